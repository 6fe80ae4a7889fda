#include "page/parsed_page.h"
#include "unit.h"

static void a_link_moves_with_all_that_is_known_of_it(void)
{
    char a[] = "http://a/", b[] = "http://b/";
    LinkInfo links[] = {{.url = a, .score = 1}, {.url = b, .score = 2}};
    uint8_t hops[] = {'L', 'E'}, kinds[] = {3, 4};
    Hash128 keys[] = {{.high = 1, .low = 2}, {.high = 3, .low = 4}};
    PageLinkKey page_keys[] = {{.length = 5}, {.length = 6}};
    ParsedPage page = {
        .links = {
            .list = links, .page_keys = page_keys, .hops = hops, .kinds = kinds, .keys = keys}};
    parsed_page_move_link(&page, 0, 1);
    CU_ASSERT_TRUE(links[0].url == b && links[0].score == 2);
    CU_ASSERT_EQUAL(page_keys[0].length, 6);
    CU_ASSERT_TRUE(hops[0] == 'E' && kinds[0] == 4 && keys[0].high == 3 && keys[0].low == 4);
}

UNIT_MAIN("parsed page",
          {"a link moves with all that is known of it", a_link_moves_with_all_that_is_known_of_it})
