/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Vital product data: what the card is called, its part and serial number, as
 * lspci -vv shows them (PCI 3.0 appendix I). Read only: four bytes at a time,
 * by an address that the guest writes and a flag that says they are there.
 */
#include "compat.h"
#include "qemu/range.h"
#include "device.h"

#define VPD_BYTES 8              /* of the capability */
#define VPD_DATA 4
#define VPD_FLAG 0x8000
#define TAG_NAME 0x82            /* large resources: name, read-only fields */
#define TAG_READ_ONLY 0x90
#define TAG_END 0x78

static void mlx5sim_vpd_field(GByteArray *vpd, const char *key,
                              const char *value)
{
    uint8_t len = strlen(value);

    g_byte_array_append(vpd, (const uint8_t *)key, 2);
    g_byte_array_append(vpd, &len, 1);
    g_byte_array_append(vpd, (const uint8_t *)value, len);
}

static void mlx5sim_vpd_resource(GByteArray *vpd, uint8_t tag,
                                 const uint8_t *data, size_t len)
{
    uint8_t head[3] = {tag, len, len >> 8};

    g_byte_array_append(vpd, head, sizeof(head));
    g_byte_array_append(vpd, data, len);
}

/* All bytes from the first to the checksum add up to 0. */
static void mlx5sim_vpd_checksum(GByteArray *vpd)
{
    uint8_t sum = 0;

    for (guint i = 0; i < vpd->len; i++) {
        sum += vpd->data[i];
    }
    sum = -sum;
    g_byte_array_append(vpd, &sum, 1);
}

static GByteArray *mlx5sim_vpd_make(const Mlx5simDevice *s)
{
    const Mlx5ModelInfo *info = mlx5_model_info(s->props.model);
    const uint8_t *mac = s->conf.macaddr.a;
    g_autofree char *name = g_strdup_printf("%s mlx5sim", info->part);
    g_autofree char *serial =
        g_strdup_printf("MSM%02X%02X%02X%02X%02X%02X", mac[0], mac[1], mac[2],
                        mac[3], mac[4], mac[5]);
    g_autoptr(GByteArray) fields = g_byte_array_new();
    GByteArray *vpd = g_byte_array_new();
    uint8_t end = TAG_END;

    mlx5sim_vpd_field(fields, "PN", info->psid);
    mlx5sim_vpd_field(fields, "EC", "A1");
    mlx5sim_vpd_field(fields, "SN", serial);
    g_byte_array_append(fields, (const uint8_t *)"RV\1", 3);
    mlx5sim_vpd_resource(vpd, TAG_NAME, (const uint8_t *)name, strlen(name));
    /* The checksum is the last byte of the resource. */
    mlx5sim_vpd_resource(vpd, TAG_READ_ONLY, fields->data, fields->len);
    vpd->data[vpd->len - fields->len - 2]++;
    mlx5sim_vpd_checksum(vpd);
    g_byte_array_append(vpd, &end, 1);
    return vpd;
}

bool mlx5sim_vpd_init(Mlx5simDevice *s, Error **errp)
{
    PCIDevice *dev = PCI_DEVICE(s);
    int pos = pci_add_capability(dev, PCI_CAP_ID_VPD, 0, VPD_BYTES, errp);

    if (pos < 0) {
        return false;
    }
    pci_set_word(dev->wmask + pos + PCI_VPD_ADDR, 0xffff);
    s->vpd_pos = pos;
    return true;
}

/* After a write: an address without the flag asks for the bytes there. */
void mlx5sim_vpd_written(Mlx5simDevice *s, uint32_t addr, int len)
{
    PCIDevice *dev = PCI_DEVICE(s);
    uint8_t *cap = dev->config + s->vpd_pos;
    uint16_t at = pci_get_word(cap + PCI_VPD_ADDR);
    uint8_t data[4] = {0};

    if (!ranges_overlap(addr, len, s->vpd_pos + PCI_VPD_ADDR, 2) ||
        (at & VPD_FLAG)) {
        return;
    }
    {
        g_autoptr(GByteArray) vpd = mlx5sim_vpd_make(s);

        for (unsigned i = 0; i < sizeof(data) && at + i < vpd->len; i++) {
            data[i] = vpd->data[at + i];
        }
    }
    memcpy(cap + VPD_DATA, data, sizeof(data));
    pci_set_word(cap + PCI_VPD_ADDR, at | VPD_FLAG);
}
