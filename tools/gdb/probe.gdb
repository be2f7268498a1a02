# From the probe of the RDMA driver to its removal: where the kernel passes, and
# with what. tools/mlx5sim gdb --batch --script tools/gdb/probe.gdb
set $tables = 0

break mlx5r_probe
commands
  silent
  printf "mlx5r_probe: auxiliary device %s, id %s\n", adev->dev.kobj.name, id->name
  info line *$pc
  backtrace
  mlx5 device
  rdma devices
  continue
end

break ib_set_device_ops
commands
  silent
  set $tables = $tables + 1
  printf "ib_set_device_ops: table %d for device %p: ", $tables, dev
  info symbol ops
  continue
end

break ib_register_device
commands
  silent
  printf "ib_register_device: name %s\n", name
  backtrace 4
  rdma devices
  mlx5 cmds 2
  continue
end

break ib_unregister_device
commands
  silent
  printf "ib_unregister_device: %s\n", ib_dev->name
  rdma devices
  rdma res
  rdma ops
  continue
end

continue
