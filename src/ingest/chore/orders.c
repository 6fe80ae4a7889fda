#include "ingest/chore/orders.h"

#include <stdlib.h>
#include <string.h>

#include "ingest/page/ingest_host.h"
#include "ingest/page/page_way.h"

typedef struct OrderList {
    Order *first;
    Order **last;
} OrderList;

struct Orders {
    void (*ring)(void *context);
    void *context;
    Mutex mutex;
    OrderList waiting; /* guarded by mutex; only the ingest thread takes away */
    OrderList done;    /* guarded by mutex */
    Order outcome;     /* the ingest thread's: of the first one; counts when it is committed */
};

/* ---- lists ---- */

static void orders_append(Orders *orders, OrderList *list, Order *order)
{
    mutex_lock(&orders->mutex);
    order->next = NULL;
    *list->last = order;
    list->last = &order->next;
    mutex_unlock(&orders->mutex);
}

static Order *first_of(Orders *orders, const OrderList *list)
{
    mutex_lock(&orders->mutex);
    Order *first = list->first;
    mutex_unlock(&orders->mutex);
    return first;
}

static Order *orders_take_first(Orders *orders, OrderList *list)
{
    mutex_lock(&orders->mutex);
    Order *first = list->first;
    if (first != NULL) {
        list->first = first->next;
        list->last = list->first == NULL ? &list->first : list->last;
    }
    mutex_unlock(&orders->mutex);
    return first;
}

void order_delete(Order *order)
{
    if (order != NULL) {
        for (size_t i = 0; i < order->n; i++) {
            free(order->texts[i]);
        }
        free(order->texts);
        free(order);
    }
}

Result orders_new(Orders **out, void (*ring)(void *context), void *context)
{
    Orders *orders = calloc(1, sizeof *orders);
    *out = orders;
    if (orders == NULL) {
        return RESULT_MEMORY;
    }
    orders->ring = ring;
    orders->context = context;
    orders->waiting.last = &orders->waiting.first;
    orders->done.last = &orders->done.first;
    mutex_init(&orders->mutex, RANK_TABLE);
    return RESULT_OK;
}

void orders_delete(Orders *orders)
{
    if (orders == NULL) {
        return;
    }
    Order *order = NULL;
    while ((order = orders_take_first(orders, &orders->waiting)) != NULL ||
           (order = orders_take_first(orders, &orders->done)) != NULL) {
        order_delete(order);
    }
    mutex_destroy(&orders->mutex);
    free(orders);
}

Result orders_give(Orders *orders, OrderKind kind, const char *const *texts, size_t n,
                   uint64_t sign)
{
    Order *order = calloc(1, sizeof *order);
    Result rc = order == NULL ? RESULT_MEMORY : RESULT_OK;
    if (rc == RESULT_OK) {
        *order = (Order){.kind = kind, .sign = sign, .texts = calloc(n, sizeof *order->texts)};
        rc = order->texts == NULL ? RESULT_MEMORY : RESULT_OK;
    }
    for (size_t i = 0; i < n && rc == RESULT_OK; i++) {
        order->texts[order->n] = strdup(texts[i]);
        rc = order->texts[order->n] == NULL ? RESULT_MEMORY : RESULT_OK;
        order->n += rc == RESULT_OK;
    }
    if (rc != RESULT_OK) {
        order_delete(order);
        return rc;
    }
    orders_append(orders, &orders->waiting, order);
    return RESULT_OK;
}

Order *orders_take(Orders *orders)
{
    return orders_take_first(orders, &orders->done);
}

/* ---- what they do ---- */

static Result orders_add_seeds(Batch *batch, const Order *order, Order *outcome)
{
    LinkInfo *seeds = calloc(order->n, sizeof *seeds);
    if (seeds == NULL) {
        return RESULT_MEMORY;
    }
    for (size_t i = 0; i < order->n; i++) {
        seeds[i] = (LinkInfo){.url = order->texts[i], .score = 1.0f};
    }
    Result rc = page_way_seed(batch, seeds, NULL, order->n, &outcome->hosts);
    free(seeds);
    return rc;
}

static Result orders_change_host(Batch *batch, OrderKind kind, uint32_t id, Order *outcome)
{
    uint64_t urls = 0;
    BatchHost *host = batch_host(batch, id);
    if (host == NULL) {
        return batch->result;
    }
    Result rc = RESULT_OK;
    if (kind == ORDER_DROP) {
        rc = ingest_host_set_aside(batch, host, &urls);
    } else {
        rc = ingest_host_revive(batch, host, &urls);
        if (rc == RESULT_OK && kind == ORDER_VISIT && !host->revived) {
            rc = ingest_host_cure(batch, host, &urls);
        }
    }
    outcome->hosts++;
    outcome->urls += urls;
    return rc;
}

/* The origins of a name, or the one that is meant. */
static Result change_hosts(Batch *batch, const Order *order, Order *outcome)
{
    static const char *const schemes[] = {"http://", "https://"};
    bool is_origin = strstr(order->texts[0], "://") != NULL;
    Buffer origin = {.limit = BUFFER_NO_LIMIT};
    Result rc = RESULT_OK;
    for (size_t i = 0; rc == RESULT_OK && i < (is_origin ? 1u : 2u); i++) {
        uint32_t id = 0;
        buffer_reset(&origin);
        rc = buffer_printf(&origin, "%s%s", is_origin ? "" : schemes[i], order->texts[0]);
        if (rc == RESULT_OK && batch_find_host(batch, origin.data, &id)) {
            rc = orders_change_host(batch, order->kind, id, outcome);
        }
    }
    buffer_destroy(&origin);
    return rc;
}

/* ---- the chore ---- */

static MonoTime orders_chore_due(void *context)
{
    Orders *orders = context;
    return first_of(orders, &orders->waiting) == NULL ? MONO_NEVER : (MonoTime){0};
}

static Result orders_chore_run(void *context, Batch *batch, MonoTime until)
{
    Orders *orders = context;
    const Order *order = first_of(orders, &orders->waiting);
    (void)until;
    orders->outcome = (Order){.hosts = 0};
    if (order == NULL) {
        return RESULT_OK;
    }
    return order->kind == ORDER_SEED ? orders_add_seeds(batch, order, &orders->outcome)
                                     : change_hosts(batch, order, &orders->outcome);
}

static void orders_chore_ended(void *context, Result rc)
{
    Orders *orders = context;
    if (rc != RESULT_OK || first_of(orders, &orders->waiting) == NULL) {
        return;
    }
    Order *order = orders_take_first(orders, &orders->waiting);
    order->hosts = orders->outcome.hosts;
    order->urls = orders->outcome.urls;
    orders_append(orders, &orders->done, order);
    orders->ring(orders->context);
}

IngestChore orders_chore(Orders *orders)
{
    return (IngestChore){.context = orders,
                         .due = orders_chore_due,
                         .run = orders_chore_run,
                         .ended = orders_chore_ended};
}
