-- The causes that dips on any server may have: see `dip_causes`.
SELECT * FROM (VALUES
    ('restart', 'other', 'restart', 'the server was restarted', 'the error log of the server'),
    ('server_stopped', 'other', 'server stopped', 'the server process did not run',
     'who sent it a signal, or stopped its container'),
    ('machine_paused', 'origin', 'machine paused', 'the whole machine was paused',
     'the hypervisor, snapshots of the machine, suspended containers'),
    ('cpu_starved', 'neighbour', 'CPU taken', 'other processes or the hypervisor took the CPU',
     'what else ran on the host; on a virtual machine, what the hypervisor keeps (steal)'),
    ('client_pause', 'other', 'client pause', 'the clients sent nothing', 'the hosts of the clients'),
    ('storage', 'origin', 'storage', 'the storage was slow', 'the device, its limits, and what else uses it'),
    ('memory', 'origin', 'memory', 'there was too little memory', 'the memory limit of the server, and what else uses memory')
) causes(cause, layer, label, words, look_at)
