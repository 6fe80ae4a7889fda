#include "cluster/desk/table_keeper.h"

void table_keeper_init(TableKeeper *keeper, NodeLink *link, int64_t confirm_ms)
{
    *keeper = (TableKeeper){.newest = false};
    key_init(&keeper->key, link, NODE_PART_TABLE, TABLE_KEY, confirm_ms / 3);
}

void table_keeper_destroy(TableKeeper *keeper)
{
    cluster_table_destroy(&keeper->table);
    cluster_table_destroy(&keeper->seen);
}

void table_keeper_up(TableKeeper *keeper, MonoTime now)
{
    key_up(&keeper->key, now);
    keeper->newest = false;
    keeper->settled = mono_add_ms(now, NODE_SETTLE_MS);
}

Result table_keeper_propose(TableKeeper *keeper, const ClusterTable *table, MonoTime now)
{
    Result rc = cluster_table_write(table, node_link_blank(keeper->key.link));
    return rc == RESULT_OK ? key_put(&keeper->key, now) : rc;
}

void table_keeper_settle(TableKeeper *keeper, uint16_t to, MonoTime now)
{
    ClusterTable next = {.epoch = 0};
    const NodeLink *link = keeper->key.link;
    if (!link->up || !keeper->newest || keeper->key.put != 0) {
        return;
    }
    if (cluster_table_copy(&next, &keeper->table) == RESULT_OK &&
        cluster_table_settle(&next, link->head.from, to) == RESULT_OK) {
        (void)table_keeper_propose(keeper, &next, now);
    }
    cluster_table_destroy(&next);
}

/* The key has forgotten what is known here. */
static TableNews table_keeper_put_back(TableKeeper *keeper, MonoTime now)
{
    const ClusterTable *newest =
        keeper->seen.epoch > keeper->table.epoch ? &keeper->seen : &keeper->table;
    keeper->settled = mono_add_ms(now, NODE_SETTLE_MS);
    if (newest->epoch > 0) {
        (void)table_keeper_propose(keeper, newest, now);
    }
    return TABLE_NOTHING;
}

static TableNews table_keeper_compare(TableKeeper *keeper, ClusterTable *table, MonoTime now)
{
    uint64_t newest =
        keeper->seen.epoch > keeper->table.epoch ? keeper->seen.epoch : keeper->table.epoch;
    if (table->epoch < newest) {
        return table_keeper_put_back(keeper, now);
    }
    if (table->epoch == keeper->table.epoch) {
        if (!cluster_table_equal(&keeper->table, table)) {
            return TABLE_TWO;
        }
        return mono_before(keeper->key.asked, keeper->settled) ? TABLE_NOTHING : TABLE_CONFIRMED;
    }
    if (cluster_table_copy(&keeper->seen, table) != RESULT_OK) {
        return TABLE_NOTHING;
    }
    return TABLE_NEWER;
}

TableNews table_keeper_take(TableKeeper *keeper, const TransportEvent *event, MonoTime now)
{
    KeyNews heard = key_take(&keeper->key, event, now);
    TableNews news = TABLE_NOTHING;
    if (heard == KEY_STORED) {
        keeper->key.next = now; /* see what is there now */
    } else if (heard == KEY_VALUE) {
        ClusterTable table = {.epoch = 0};
        Result rc = event->revision == 0 ? RESULT_NOT_FOUND
                                         : cluster_table_read(&table, event->bytes, event->length);
        if (rc == RESULT_OK) {
            news = table_keeper_compare(keeper, &table, now);
        } else {
            news = rc == RESULT_VERSION ? TABLE_TWO : table_keeper_put_back(keeper, now);
        }
        cluster_table_destroy(&table);
        keeper->newest = news == TABLE_CONFIRMED;
        bool waits = mono_before(now, keeper->settled); /* soon after it has settled */
        MonoTime soon = mono_add_ms(keeper->settled, 1);
        keeper->key.next = waits ? mono_earlier(soon, keeper->key.next) : keeper->key.next;
    }
    return news;
}
