"""One function per table of a post, a file a subject: a frame of one setup (and step) in, a great_tables object out.

The frames are answers to the questions in `ibench_lib/sql/`. A step that did not complete shows its status in the place
of a number.
"""
