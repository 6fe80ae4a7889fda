#include "store/tables/host_rows.h"

#include "store_fixture.h"

static uint64_t of_address(const char *text)
{
    IpAddress address;
    CU_ASSERT_EQUAL_FATAL(ip_address_parse(text, strlen(text), &address), RESULT_OK);
    return group_key_of_address(&address);
}

static void addresses_of_one_machine_are_one_group(void)
{
    CU_ASSERT_EQUAL(of_address("192.0.2.1"), of_address("::ffff:192.0.2.1"));
    CU_ASSERT_NOT_EQUAL(of_address("192.0.2.1"), of_address("192.0.2.2"));
    CU_ASSERT_EQUAL(of_address("2001:db8::1"), of_address("2001:db8::ffff:2"));
    CU_ASSERT_NOT_EQUAL(of_address("2001:db8::1"), of_address("2001:db8:0:1::1"));
    CU_ASSERT_NOT_EQUAL(group_key_of_domain("example.org", 11),
                        group_key_of_domain("example.net", 11));
    CU_ASSERT_NOT_EQUAL(group_key_of_domain("", 0), 0);
}

static void groups_are_kept(void)
{
    StoreFixture fixture;
    GroupRecord in = {.pages = 5, .queued = UINT64_C(1) << 40, .hosts = 7};
    GroupRecord out = {.hosts = 1};
    store_fixture_open(&fixture);
    MDB_txn *txn = store_fixture_begin(&fixture, false);
    CU_ASSERT_EQUAL(group_rows_get(fixture.store.groups, txn, 99, &out), RESULT_OK);
    CU_ASSERT_EQUAL(out.hosts, 0); /* an unknown one */
    CU_ASSERT_EQUAL(group_rows_put(fixture.store.groups, txn, 99, &in), RESULT_OK);
    store_fixture_commit(&fixture, txn);
    store_fixture_close(&fixture, false);
    store_fixture_reopen(&fixture);
    txn = store_fixture_begin(&fixture, true);
    CU_ASSERT_EQUAL(group_rows_get(fixture.store.groups, txn, 99, &out), RESULT_OK);
    CU_ASSERT_EQUAL(memcmp(&in, &out, sizeof in), 0);
    page_db_txn_abort(fixture.store.db, txn);
    store_fixture_close(&fixture, true);
}

UNIT_MAIN("group_rows",
          {"addresses of one machine are one group", addresses_of_one_machine_are_one_group},
          {"groups are kept", groups_are_kept})
