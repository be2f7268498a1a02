/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What differs between the QEMU versions we compile against, and nothing
 * else. MLX5SIM_QEMU is major * 100 + minor of the headers in use.
 *
 * Included first in every file of this directory: QEMU wants osdep.h there.
 */
#ifndef HW_MLX5SIM_COMPAT_H
#define HW_MLX5SIM_COMPAT_H

#include "qemu/osdep.h"
#include "qemu/main-loop.h"
#include "qapi/error.h"
#include "qom/object.h"
#include "migration/blocker.h"
#include "net/net.h"
#include "trace/control.h"

/* 11.0 moved the device model's headers to hw/core/. */
#if __has_include("hw/core/qdev-properties.h")
#include "hw/core/qdev-properties.h"
#else
#include "hw/qdev-properties.h"
#endif

/* 8.0 split pci.h. */
#if MLX5SIM_QEMU >= 800
#include "hw/pci/pci_device.h"
#else
#include "hw/pci/pci.h"
#endif

/* 10.0 renamed sysemu/ to system/ and qapi/qmp/ to qobject/. */
#if MLX5SIM_QEMU >= 1000
#include "system/runstate.h"
#include "qobject/qjson.h"
#include "qobject/qobject.h"
#else
#include "sysemu/runstate.h"
#include "qapi/qmp/qjson.h"
#include "qapi/qmp/qobject.h"
#endif
/* 10.1 moved memory.h there too. */
#if MLX5SIM_QEMU >= 1001
#include "system/address-spaces.h"
#include "system/memory.h"
#else
#include "exec/address-spaces.h"
#include "exec/memory.h"
#endif

/* Later ones moved the list of RAM, and page sizes out of memory.h. */
#if __has_include("system/ramlist.h")
#include "system/ramlist.h"
#else
#include "exec/ramlist.h"
#endif
#if __has_include("exec/target_page.h")
#include "exec/target_page.h"
#endif

/* 9.0 renamed the big lock. */
#if MLX5SIM_QEMU < 900
static inline bool bql_locked(void)
{
    return qemu_mutex_iothread_locked();
}

static inline void bql_lock(void)
{
    qemu_mutex_lock_iothread();
}

static inline void bql_unlock(void)
{
    qemu_mutex_unlock_iothread();
}

static inline void qemu_cond_wait_bql(QemuCond *cond)
{
    qemu_cond_wait_iothread(cond);
}
#endif

/* 10.1 made the class data const. */
#if MLX5SIM_QEMU >= 1001
typedef const void Mlx5simClassData;
typedef const InterfaceInfo Mlx5simInterfaceInfo;
#else
typedef void Mlx5simClassData;
typedef InterfaceInfo Mlx5simInterfaceInfo;
#endif

/* 9.1 tells the phases of a reset its type. */
#if MLX5SIM_QEMU >= 901
#define MLX5SIM_RESET_HOLD(fn) void fn(Object *obj, ResetType type)
#else
#define MLX5SIM_RESET_HOLD(fn) void fn(Object *obj)
#endif

/* 10.0 takes a count where 7.2 wants an empty row at the end. */
static inline void mlx5sim_class_set_props(DeviceClass *dc, Property *props,
                                           size_t count)
{
#if MLX5SIM_QEMU >= 1000
    device_class_set_props_n(dc, props, count);
#else
    g_assert(!props[count].name);
    device_class_set_props(dc, props);
#endif
}

/* 10.0 lets a debugger write to ROM and looks at the attributes for it. */
static inline bool mlx5sim_access_is_direct(MemoryRegion *mr, bool is_write)
{
#if MLX5SIM_QEMU >= 1000
    return memory_access_is_direct(mr, is_write, MEMTXATTRS_UNSPECIFIED);
#else
    return memory_access_is_direct(mr, is_write);
#endif
}

/* 8.1 dropped the per-vCPU trace events. */
#if MLX5SIM_QEMU >= 801
#define MLX5SIM_TRACE_NO_VCPU
#else
#define MLX5SIM_TRACE_NO_VCPU .vcpu_id = TRACE_VCPU_EVENT_NONE,
#endif

/* 8.2 owns the reason of a migration blocker. */
static inline bool mlx5sim_migrate_add_blocker(Error **reason, Error **errp)
{
#if MLX5SIM_QEMU >= 802
    return migrate_add_blocker(reason, errp) == 0;
#else
    if (migrate_add_blocker(*reason, errp) == 0) {
        return true;
    }
    error_free(*reason);
    *reason = NULL;
    return false;
#endif
}

static inline void mlx5sim_migrate_del_blocker(Error **reason)
{
#if MLX5SIM_QEMU >= 802
    migrate_del_blocker(reason);
#else
    migrate_del_blocker(*reason);
    error_free(*reason);
    *reason = NULL;
#endif
}

/* 10.2 lets a handler refuse to stop, for which ours has no use. */
static inline VMChangeStateEntry *mlx5sim_add_vm_state_handler(
    DeviceState *dev, VMChangeStateHandler *cb, void *opaque)
{
#if MLX5SIM_QEMU >= 1002
    return qdev_add_vm_change_state_handler(dev, cb, NULL, opaque);
#else
    return qdev_add_vm_change_state_handler(dev, cb, opaque);
#endif
}

/* 10.1 can be told that a region needs no big lock. */
static inline void mlx5sim_region_lockless(MemoryRegion *mr)
{
#if MLX5SIM_QEMU >= 1001
    memory_region_enable_lockless_io(mr);
#else
    (void)mr;
#endif
}

#endif
