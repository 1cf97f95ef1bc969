"""Where servers with InnoDB have the figures of `server_figures.py`."""

from __future__ import annotations

from ibench_lib.server_figures import FigurePlaces

PLACES = FigurePlaces(
    places={
        "history_list_length": (("metric", "trx_rseg_history_len"), ("status", "Innodb_history_list_length")),
        "uptime_s": (("status", "Uptime"),),
        "questions": (("status", "Questions"),),
        "threads_running": (("status", "Threads_running"),),
        "rows_inserted": (("status", "Innodb_rows_inserted"),),
        "rows_deleted": (("status", "Innodb_rows_deleted"),),
        "rows_read": (("status", "Innodb_rows_read"),),
        "checkpoint_age_bytes": (("status", "Innodb_checkpoint_age"), ("metric", "log_lsn_checkpoint_age")),
        "checkpoint_age_async_bytes": (("metric", "log_max_modified_age_async"),),
        "checkpoint_age_sync_bytes": (("metric", "log_max_modified_age_sync"),),
        # Not log_max_modified_age_sync: it is 15/16 of this one, and of another age.
        "checkpoint_age_limit_bytes": (("status", "Innodb_checkpoint_max_age"),),
        # The status first: the variable is what was asked for, and MySQL 8.0.30 may still go by innodb_log_file_size.
        "redo_capacity_bytes": (
            ("status", "Innodb_redo_log_capacity_resized"),
            ("variable", "innodb_redo_log_capacity"),
            ("variable", "innodb_log_file_size * innodb_log_files_in_group"),
            ("variable", "innodb_log_file_size"),
        ),
        "redo_lsn_bytes": (
            ("status", "Innodb_redo_log_current_lsn"),
            ("status", "Innodb_lsn_current"),
            ("metric", "log_lsn_current"),
        ),
        "redo_written_bytes": (("status", "Innodb_os_log_written"),),
        "redo_waits": (("status", "Innodb_log_waits"),),
        "redo_file_waits": (("metric", "log_writer_on_file_space_waits"),),
        "redo_fsyncs": (("status", "Innodb_os_log_fsyncs"),),
        "data_fsyncs": (("status", "Innodb_data_fsyncs"),),
        "dirty_pages": (("status", "Innodb_buffer_pool_pages_dirty"),),
        "free_pages": (("status", "Innodb_buffer_pool_pages_free"),),
        "pages": (("status", "Innodb_buffer_pool_pages_total"),),
        "pages_read": (("status", "Innodb_pages_read"),),
        "pages_written": (("status", "Innodb_pages_written"),),
        "pages_flushed_adaptive": (("metric", "buffer_flush_adaptive_total_pages"),),
        "pages_flushed_sync": (("metric", "buffer_flush_sync_total_pages"),),
        "pages_flushed_background": (("metric", "buffer_flush_background_total_pages"),),
        "pages_flushed_lru": (("metric", "buffer_LRU_batch_flush_total_pages"),),
        "pages_evicted_lru": (("metric", "buffer_LRU_batch_evict_total_pages"),),
        "sync_flush_waits": (("metric", "buffer_flush_sync_waits"),),
        "free_page_searches": (("metric", "buffer_LRU_get_free_search"),),
        "free_page_loops": (("metric", "buffer_LRU_get_free_loops"),),
        "free_page_waits": (("status", "Innodb_buffer_pool_wait_free"),),
        "single_page_searches": (("metric", "buffer_LRU_single_flush_num_scan"),),
        "doublewrite_pages": (("status", "Innodb_dblwr_pages_written"),),
        "doublewrite_writes": (("status", "Innodb_dblwr_writes"),),
        "redo_pending_fsyncs": (("status", "Innodb_os_log_pending_fsyncs"),),
        "redo_flush_ms": (("metric", "log_flush_total_time"),),
        "row_locks_awaited": (("status", "Innodb_row_lock_current_waits"),),
        "row_lock_wait_ms": (("status", "Innodb_row_lock_time"),),
        "purge_delay_us": (("metric", "purge_dml_delay_usec"),),
        "com_select": (("status", "Com_select"),),
        "com_insert": (("status", "Com_insert"),),
        "com_update": (("status", "Com_update"),),
        "com_delete": (("status", "Com_delete"),),
        "com_begin": (("status", "Com_begin"),),
        "com_commit": (("status", "Com_commit"),),
        "com_rollback": (("status", "Com_rollback"),),
    },
    owners={"buffer_LRU_single_flush_num_scan": "buffer_LRU_single_flush_scanned"},
    # InnoDB up to 5.7 sets these when it writes redo or makes a checkpoint, not when they are read: from the moment
    # that they were switched on until then they say 0.
    set_later=frozenset({"log_lsn_checkpoint_age"}),
    set_later_in=("innodb_version", "5."),
)
