/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The PCI Express function: identity, BARs, capabilities, resets, hot-plug.
 *
 * BAR0 is the init segment, the UARs and the device memory. BAR2 stays free for what later
 * functions of the card need. The MSI-X table has BAR4 to itself: in BAR0
 * every page may become a UAR that a program maps.
 *
 * Sources: PCI Express base specification 4.0 chapter 7 (register layouts);
 * mlx5_core main.c (what the driver maps and enables).
 *
 * Left out: SR-IOV, ATS, INTx (the part has a pin; its driver uses
 * MSI-X alone).
 */
#include "compat.h"
#include "hw/pci/msix.h"
#include "hw/pci/pci_bus.h"
#include "hw/pci/pcie.h"
#include "hw/pci/pcie_aer.h"
#include "qapi/visitor.h"
#include "qemu/memalign.h"
#include "device.h"

#define MLX5SIM_BAR_UAR  0
#define MLX5SIM_BAR_MSIX 4

#define MLX5SIM_AER_OFFSET    0x100
#define MLX5SIM_SERIAL_OFFSET (MLX5SIM_AER_OFFSET + PCI_ERR_SIZEOF)

/* PCIe 4.0 table 7-20: link width x16, speed 16 GT/s. */
#define MLX5SIM_LINK_WIDTH 16
#define MLX5SIM_LINK_SPEED 4

/*
 * Let a thread into the core, which wants no BQL. An access that comes with
 * the BQL gives it up meanwhile, so that a doorbell's work on one vCPU stops
 * neither the others nor the main loop.
 * Return: false if the device is going away or gone. @had_lock is for leave.
 */
static bool mlx5sim_core_enter(Mlx5simDevice *s, bool *had_lock)
{
    qatomic_inc(&s->inflight);
    *had_lock = bql_locked() && !qatomic_read(&s->behind_iommu);
    if (qatomic_read(&s->dead) || qatomic_read(&s->gone)) {
        *had_lock = false;
        return false;
    }
    mlx5sim_account_add(s, &s->account.entries);
    if (*had_lock) {
        bql_unlock();
    }
    return true;
}

static void mlx5sim_core_leave(Mlx5simDevice *s, bool had_lock)
{
    if (had_lock) {
        bql_lock();
    }
    if (qatomic_fetch_dec(&s->inflight) == 1 && qatomic_read(&s->dead)) {
        bool take = !bql_locked();

        if (take) {
            bql_lock();
        }
        qemu_cond_broadcast(&s->idle);
        if (take) {
            bql_unlock();
        }
    }
}

static uint64_t mlx5sim_bar_read(void *opaque, hwaddr offset, unsigned size)
{
    Mlx5simDevice *s = opaque;
    int64_t began = mlx5sim_account_begin(s);
    uint64_t value = UINT64_MAX;
    bool had_lock;

    if (mlx5sim_core_enter(s, &had_lock)) {
        value = mlx5_func_bar_read(s->func, offset, size);
    }
    mlx5sim_account_end(began, &s->account.bar_ns, &s->account.reads);
    mlx5sim_core_leave(s, had_lock);
    return value;
}

static void mlx5sim_bar_write(void *opaque, hwaddr offset, uint64_t value,
                              unsigned size)
{
    Mlx5simDevice *s = opaque;
    int64_t began = mlx5sim_account_begin(s);
    bool had_lock;

    /* Six of the eight writes that post a work request; the locks cost more. */
    if (mlx5_bar_write_is_idle(&s->props, offset, size)) {
        mlx5sim_account_end(began, &s->account.bar_ns, &s->account.writes);
        return;
    }
    if (mlx5sim_core_enter(s, &had_lock)) {
        mlx5_func_bar_write(s->func, offset, value, size);
    }
    mlx5sim_account_end(began, &s->account.bar_ns, &s->account.writes);
    mlx5sim_core_leave(s, had_lock);
}

static const MemoryRegionOps mlx5sim_bar_ops = {
    .read = mlx5sim_bar_read,
    .write = mlx5sim_bar_write,
    .endianness = DEVICE_BIG_ENDIAN,
    .valid = {.min_access_size = 1, .max_access_size = 8, .unaligned = true},
    .impl = {.min_access_size = 1, .max_access_size = 8, .unaligned = true},
};

/*
 * Device memory as RAM over the core's registers, so that the guest's
 * processors reach it without us. The core works on the same bytes, and tells
 * nobody: code that a guest runs from there may be stale under TCG.
 */
static void mlx5sim_init_memic(Mlx5simDevice *s)
{
    if (!s->props.dm) {
        return;
    }
    if (!s->memic) {
        s->memic = qemu_memalign(qemu_real_host_page_size(), MLX5_MEMIC_BYTES);
    }
    memset(s->memic, 0, MLX5_MEMIC_BYTES);
    s->props.memic = s->memic;
    memory_region_init_ram_ptr(&s->memic_ram, OBJECT(s), "mlx5sim-memic",
                               MLX5_MEMIC_BYTES, s->memic);
    memory_region_add_subregion(&s->bar, mlx5_memic_bar_start(&s->props),
                                &s->memic_ram);
}

/* A region inside another holds its device: it would never be finalized. */
static void mlx5sim_fini_memic(Mlx5simDevice *s)
{
    if (s->props.dm) {
        memory_region_del_subregion(&s->bar, &s->memic_ram);
    }
}

static void mlx5sim_init_bar(Mlx5simDevice *s)
{
    memory_region_init_io(&s->bar, OBJECT(s), &mlx5sim_bar_ops, s,
                          "mlx5sim-uar", UINT64_C(1) << s->props.log_bar_size);
    mlx5sim_region_lockless(&s->bar);
    /*
     * QEMU's guard takes a second vCPU's access for a re-entrant one once the
     * first has given the BQL up. DMA can't reach us: host.c goes to RAM only.
     */
    s->bar.disable_reentrancy_guard = true;
    mlx5sim_init_memic(s);
    pci_register_bar(PCI_DEVICE(s), MLX5SIM_BAR_UAR,
                     PCI_BASE_ADDRESS_SPACE_MEMORY |
                         PCI_BASE_ADDRESS_MEM_TYPE_64 |
                         PCI_BASE_ADDRESS_MEM_PREFETCH,
                     &s->bar);
}

static void mlx5sim_init_identity(Mlx5simDevice *s)
{
    const Mlx5ModelInfo *info = mlx5_model_info(s->props.model);
    uint8_t *config = PCI_DEVICE(s)->config;

    pci_config_set_device_id(config, info->pci_device_id);
    pci_set_word(config + PCI_SUBSYSTEM_ID, info->pci_device_id);
}

static bool mlx5sim_init_pm(PCIDevice *dev, Error **errp)
{
    int pos = pci_add_capability(dev, PCI_CAP_ID_PM, 0, PCI_PM_SIZEOF, errp);

    if (pos < 0) {
        return false;
    }
    pci_set_word(dev->config + pos + PCI_PM_PMC, 3); /* PM 1.2 */
    pci_set_word(dev->config + pos + PCI_PM_CTRL, PCI_PM_CTRL_NO_SOFT_RESET);
    pci_set_word(dev->wmask + pos + PCI_PM_CTRL, PCI_PM_CTRL_STATE_MASK);
    return true;
}

/* The vendor's own capability: its registers are the core's. */
static bool mlx5sim_init_vsc(Mlx5simDevice *s, Error **errp)
{
    PCIDevice *dev = PCI_DEVICE(s);
    int pos = pci_add_capability(dev, PCI_CAP_ID_VNDR, 0, MLX5_VSC_BYTES, errp);

    if (pos < 0) {
        return false;
    }
    pci_set_byte(dev->config + pos + PCI_CAP_FLAGS, MLX5_VSC_BYTES);
    s->vsc_pos = pos;
    return true;
}

/* Is @addr a register of that capability, accessed as one? */
static bool mlx5sim_in_vsc(Mlx5simDevice *s, uint32_t addr, int len)
{
    return s->vsc_pos && len == 4 && addr % 4 == 0 &&
           addr >= s->vsc_pos + 4u && addr < s->vsc_pos + MLX5_VSC_BYTES;
}

/* State a link as fast as the part's. An integrated endpoint has none. */
static void mlx5sim_init_link(PCIDevice *dev)
{
    uint8_t *cap = dev->config + dev->exp.exp_cap;
    uint16_t link = MLX5SIM_LINK_WIDTH << 4 | MLX5SIM_LINK_SPEED;

    if (pcie_cap_get_type(dev) != PCI_EXP_TYPE_ENDPOINT) {
        return;
    }
    pci_set_long(cap + PCI_EXP_LNKCAP,
                 (pci_get_long(cap + PCI_EXP_LNKCAP) & ~UINT32_C(0x3ff)) |
                     link);
    pci_set_word(cap + PCI_EXP_LNKSTA, link);
    /* Supported speeds: all up to ours, from bit 1. */
    pci_set_long(cap + PCI_EXP_LNKCAP2, ((1 << MLX5SIM_LINK_SPEED) - 1) << 1);
}

static bool mlx5sim_init_express(Mlx5simDevice *s, Error **errp)
{
    PCIDevice *dev = PCI_DEVICE(s);
    const uint8_t *mac = s->conf.macaddr.a;
    /* EUI-64 from EUI-48, as the part does. */
    uint8_t eui64[8] = {mac[0], mac[1], mac[2], 0xff,
                        0xfe,   mac[3], mac[4], mac[5]};

    if (pcie_endpoint_cap_init(dev, 0) < 0) {
        error_setg(errp, "no room for the PCI Express capability");
        return false;
    }
    mlx5sim_init_link(dev);
    pcie_cap_flr_init(dev);
    if (pcie_aer_init(dev, PCI_ERR_VER, MLX5SIM_AER_OFFSET, PCI_ERR_SIZEOF,
                      errp) < 0) {
        return false;
    }
    pcie_dev_ser_num_init(dev, MLX5SIM_SERIAL_OFFSET, ldq_be_p(eui64));
    return true;
}

static bool mlx5sim_init_msix(Mlx5simDevice *s, Error **errp)
{
    PCIDevice *dev = PCI_DEVICE(s);

    if (msix_init_exclusive_bar(dev, s->props.num_vectors, MLX5SIM_BAR_MSIX,
                                errp) < 0) {
        return false;
    }
    for (unsigned i = 0; i < s->props.num_vectors; i++) {
        msix_vector_use(dev, i);
    }
    return true;
}

/* Undo what PCI's own unrealize doesn't. */
static void mlx5sim_fini_pci(PCIDevice *dev)
{
    if (msix_present(dev)) {
        msix_unuse_all_vectors(dev);
        msix_uninit_exclusive_bar(dev);
    }
    if (dev->exp.aer_cap) {
        pcie_aer_exit(dev);
    }
    if (dev->exp.exp_cap) {
        pcie_cap_exit(dev);
    }
}

static bool mlx5sim_init_pci(Mlx5simDevice *s, Error **errp)
{
    PCIDevice *dev = PCI_DEVICE(s);

    if (!pci_bus_is_express(pci_get_bus(dev))) {
        error_setg(errp, "mlx5sim is a PCI Express device: use -machine q35 "
                         "or a bus of a pcie-root-port");
        return false;
    }
    mlx5sim_init_identity(s);
    mlx5sim_init_bar(s);
    if (!mlx5sim_init_pm(dev, errp) || !mlx5sim_init_express(s, errp) ||
        !mlx5sim_init_vsc(s, errp) || !mlx5sim_vpd_init(s, errp) ||
        !mlx5sim_init_msix(s, errp)) {
        mlx5sim_fini_pci(dev);
        return false;
    }
    return true;
}

static bool mlx5sim_init_core(Mlx5simDevice *s, Error **errp)
{
    g_autoptr(GError) err = NULL;

    s->card = mlx5_card_new();
    s->func = mlx5_func_new(s->card, &s->props, &mlx5sim_host_ops, s, &err);
    if (!s->func) {
        error_setg(errp, "%s", err->message);
        mlx5_card_free(s->card);
        s->card = NULL;
        return false;
    }
    return true;
}

/*
 * The core has no save and load yet, and a snapshot must not lose the card
 * silently. A blocker, not an unmigratable VMState: that would also forbid to
 * give a fresh card to a machine that is restored from before it had one.
 */
static bool mlx5sim_block_migration(Mlx5simDevice *s, Error **errp)
{
    error_setg(&s->migration_blocker,
               "mlx5sim: the state of the card can't be saved");
    return mlx5sim_migrate_add_blocker(&s->migration_blocker, errp);
}

static void mlx5sim_realize(PCIDevice *dev, Error **errp)
{
    Mlx5simDevice *s = MLX5SIM(dev);

    if (!mlx5sim_props_check(s, errp) || !mlx5sim_block_migration(s, errp)) {
        return;
    }
    if (!mlx5sim_init_pci(s, errp)) {
        mlx5sim_migrate_del_blocker(&s->migration_blocker);
        return;
    }
    s->inflight = 0;
    s->dead = s->gone = s->behind_iommu = s->bus_master = false;
    qemu_cond_init(&s->idle);
    mlx5sim_ram_start(s);
    mlx5sim_net_init(s);
    mlx5sim_engine_start(s);
    if (!mlx5sim_init_core(s, errp)) {
        mlx5sim_engine_stop(s);
        mlx5sim_net_fini(s);
        mlx5sim_ram_stop(s);
        qemu_cond_destroy(&s->idle);
        mlx5sim_fini_memic(s);
        mlx5sim_fini_pci(dev);
        mlx5sim_migrate_del_blocker(&s->migration_blocker);
        return;
    }
    mlx5sim_net_start(s);
}

static void mlx5sim_exit(PCIDevice *dev)
{
    Mlx5simDevice *s = MLX5SIM(dev);

    /* In this order: no new access, none inside, no engine, no core. */
    qatomic_set(&s->dead, true);
    smp_mb();
    while (qatomic_read(&s->inflight)) {
        qemu_cond_wait_bql(&s->idle);
    }
    mlx5sim_net_stop(s);
    mlx5sim_engine_stop(s);
    mlx5sim_net_fini(s);
    mlx5_func_free(s->func);
    mlx5_card_free(s->card);
    s->func = NULL;
    s->card = NULL;
    mlx5sim_ram_stop(s);
    qemu_cond_destroy(&s->idle);
    mlx5sim_fini_memic(s);
    mlx5sim_fini_pci(dev);
    mlx5sim_migrate_del_blocker(&s->migration_blocker);
}

static void mlx5sim_update_bus_master(Mlx5simDevice *s)
{
    PCIDevice *dev = PCI_DEVICE(s);
    bool on = pci_get_word(dev->config + PCI_COMMAND) & PCI_COMMAND_MASTER;

    if (on != s->bus_master) {
        s->bus_master = on;
        /* Known only now: an IOMMU may be made after the card. */
        qatomic_set(&s->behind_iommu, pci_device_iommu_address_space(dev) !=
                                          &address_space_memory);
        mlx5_func_set_bus_master(s->func, on);
    }
}

static uint32_t mlx5sim_config_read(PCIDevice *dev, uint32_t addr, int len)
{
    Mlx5simDevice *s = MLX5SIM(dev);

    if (qatomic_read(&s->gone)) {
        return UINT32_MAX >> (32 - 8 * len);
    }
    if (mlx5sim_in_vsc(s, addr, len)) {
        return mlx5_func_vsc_read(s->func, addr - s->vsc_pos);
    }
    return pci_default_read_config(dev, addr, len);
}

static void mlx5sim_config_write(PCIDevice *dev, uint32_t addr, uint32_t value,
                                 int len)
{
    if (qatomic_read(&MLX5SIM(dev)->gone)) {
        return;
    }
    if (mlx5sim_in_vsc(MLX5SIM(dev), addr, len)) {
        mlx5_func_vsc_write(MLX5SIM(dev)->func, addr - MLX5SIM(dev)->vsc_pos,
                            value);
        return;
    }
    pci_default_write_config(dev, addr, value, len);
    pcie_cap_flr_write_config(dev, addr, value, len);
    mlx5sim_vpd_written(MLX5SIM(dev), addr, len);
    mlx5sim_update_bus_master(MLX5SIM(dev));
}

static MLX5SIM_RESET_HOLD(mlx5sim_reset_hold)
{
    Mlx5simDevice *s = MLX5SIM(obj);

    mlx5_func_reset(s->func);
    /* PCI clears the command register after this. */
    s->bus_master = false;
    mlx5_func_set_bus_master(s->func, false);
}

/* The property "state": what mlx5_func_inspect() says, as a QMP object. */
static void mlx5sim_get_state(Object *obj, Visitor *v, const char *name,
                              void *opaque, Error **errp)
{
    Mlx5simDevice *s = MLX5SIM(obj);
    g_autofree char *json = NULL;
    QObject *value;

    if (!s->func) {
        error_setg(errp, "the device is not realized");
        return;
    }
    json = mlx5_func_inspect(s->func);
    value = qobject_from_json(json, errp);
    if (value) {
        visit_type_any(v, name, &value, errp);
        qobject_unref(value);
    }
}

static bool mlx5sim_get_gone(Object *obj, Error **errp)
{
    return qatomic_read(&MLX5SIM(obj)->gone);
}

/*
 * The property "gone": a card that is pulled out. From now on reads give all
 * ones, writes go nowhere, and the card reaches no memory; QEMU still has the
 * device, which device_del or the slot's power removes.
 */
static void mlx5sim_set_gone(Object *obj, bool value, Error **errp)
{
    Mlx5simDevice *s = MLX5SIM(obj);

    if (!s->func || !value) {
        error_setg(errp, s->func ? "a card that is gone doesn't come back"
                                 : "the device is not realized");
        return;
    }
    qatomic_set(&s->gone, true);
    s->bus_master = false;
    mlx5_func_set_bus_master(s->func, false);
    if (s->props.dm) {
        memory_region_set_enabled(&s->memic_ram, false);
    }
}

static void mlx5sim_instance_init(Object *obj)
{
    mlx5sim_props_init_instance(MLX5SIM(obj));
    mlx5sim_account_init(MLX5SIM(obj));
}

/* By now no view of the guest's memory shows the device's any more. */
static void mlx5sim_instance_finalize(Object *obj)
{
    qemu_vfree(MLX5SIM(obj)->memic);
}

static void mlx5sim_class_init(ObjectClass *klass, Mlx5simClassData *data)
{
    DeviceClass *dc = DEVICE_CLASS(klass);
    PCIDeviceClass *k = PCI_DEVICE_CLASS(klass);
    ResettableClass *rc = RESETTABLE_CLASS(klass);

    k->realize = mlx5sim_realize;
    k->exit = mlx5sim_exit;
    k->config_read = mlx5sim_config_read;
    k->config_write = mlx5sim_config_write;
    k->vendor_id = MLX5_PCI_VENDOR_ID;
    k->device_id = mlx5_model_info(MLX5_MODEL_CX6DX)->pci_device_id;
    k->subsystem_vendor_id = MLX5_PCI_VENDOR_ID;
    k->class_id = PCI_CLASS_NETWORK_ETHERNET;
    rc->phases.hold = mlx5sim_reset_hold;
    dc->desc = "NVIDIA ConnectX network adapter (device model)";
    dc->user_creatable = true;
    dc->hotpluggable = true;
    set_bit(DEVICE_CATEGORY_NETWORK, dc->categories);
    mlx5sim_props_init_class(klass);
    object_class_property_add(klass, "state", "object", mlx5sim_get_state, NULL,
                              NULL, NULL);
    object_class_property_set_description(klass, "state",
                                          "live state of the card");
    object_class_property_add_bool(klass, "gone", mlx5sim_get_gone,
                                   mlx5sim_set_gone);
    object_class_property_set_description(
        klass, "gone", "the card was pulled out: reads give all ones");
}

static Mlx5simInterfaceInfo mlx5sim_interfaces[] = {
    {INTERFACE_PCIE_DEVICE},
    {},
};

static const TypeInfo mlx5sim_type = {
    .name = TYPE_MLX5SIM,
    .parent = TYPE_PCI_DEVICE,
    .instance_size = sizeof(Mlx5simDevice),
    .instance_init = mlx5sim_instance_init,
    .instance_finalize = mlx5sim_instance_finalize,
    .class_init = mlx5sim_class_init,
    .interfaces = mlx5sim_interfaces,
};

static void mlx5sim_register_type(void)
{
    type_register_static(&mlx5sim_type);
}

void mlx5sim_plugin_start(void);

/**
 * mlx5sim_plugin_start - what preload.c calls before QEMU's main()
 */
__attribute__((visibility("default"))) void mlx5sim_plugin_start(void)
{
    register_module_init(mlx5sim_trace_register, MODULE_INIT_TRACE);
    register_module_init(mlx5sim_register_type, MODULE_INIT_QOM);
}
