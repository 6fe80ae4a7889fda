#include "forecast/forecast.h"

#include <math.h>
#include <string.h>

#define NEVER        ((double)INFINITY)
#define QUARTERS     4
#define GROWTH_LIMIT 0.999 /* with more new URLs than that for each one there is no end */
#define BISECTIONS   200
#define TREND_PIECES 16u
#define TREND_LEAST  0.01 /* of the growth: what falls by less over the past does not fall */
#define MODEL_EARLY  0.2  /* of the likely time; */
#define MODEL_LATE   0.3  /* URLs that come last, with low scores, fail more often than others */

const char *forecast_limit_name(ForecastLimit limit)
{
    static const char *const names[] = {WORDS_NAMES(FORECAST_LIMIT_WORDS)};
    return names[limit];
}

/* ---- lately ---- */

static double pages_per_s(const ForecastPoint *from, const ForecastPoint *to)
{
    double seconds = to->at_work_s - from->at_work_s;
    return seconds > 0 ? (to->pages - from->pages) / seconds : 0;
}

/* The word that stood longest behind a point. */
static const char *bound_since(const ForecastHistory *history, const ForecastPoint *since)
{
    const ForecastPoint *end = history->points + history->n;
    const char *best = "";
    double best_s = 0;
    for (const ForecastPoint *p = since + 1; p < end; p++) {
        double seconds = 0;
        for (const ForecastPoint *q = since + 1; q < end; q++) {
            seconds += strcmp(q->limit, p->limit) == 0 ? q->at_work_s - q[-1].at_work_s : 0;
        }
        if (seconds > best_s) {
            best = p->limit;
            best_s = seconds;
        }
    }
    return best;
}

/* Rates of the quarters of the last quarter; of fewer points those that there are. */
static void find_rates(Forecast *forecast, const ForecastHistory *history)
{
    const ForecastPoint *last = forecast_history_last(history);
    const ForecastPoint *since = forecast_history_before(history, last->at_work_s / 4);
    forecast->measured_s = last->at_work_s - since->at_work_s;
    forecast->rate = pages_per_s(since, last);
    forecast->rate_least = forecast->rate;
    forecast->rate_most = forecast->rate;
    const ForecastPoint *from = since;
    for (const ForecastPoint *p = since + 1; p <= last; p++) {
        bool is_long = p->at_work_s - from->at_work_s >= forecast->measured_s / QUARTERS * 0.9;
        if (is_long) {
            forecast->rate_least = fmin(forecast->rate_least, pages_per_s(from, p));
            forecast->rate_most = fmax(forecast->rate_most, pages_per_s(from, p));
            from = p;
        }
    }
    forecast->bound = bound_since(history, since);
}

/* What the crawl could do if its hosts let it: the best rate over a tenth of its work. */
static double best_rate(const ForecastHistory *history)
{
    const ForecastPoint *last = forecast_history_last(history);
    const ForecastPoint *from = history->points;
    double best = 0;
    for (const ForecastPoint *p = from + 1; p <= last; p++) {
        if (p->at_work_s - from->at_work_s >= last->at_work_s / 10) {
            best = fmax(best, pages_per_s(from, p));
            from = p;
        }
    }
    return best;
}

static double ratio(double part, double whole, double otherwise)
{
    return whole > 0 ? part / whole : otherwise;
}

/* New URLs for each that is finished, now, and by how much fewer with each URL that is known. */
typedef struct Trend {
    double growth;
    double per_known; /* 0: it does not fall */
} Trend;

/* The last point at which this number of URLs, or fewer, were finished. */
static const ForecastPoint *when_finished(const ForecastHistory *history, double finished)
{
    size_t i = history->n - 1;
    while (i > 0 && history->points[i].finished > finished) {
        i--;
    }
    return &history->points[i];
}

/* The line growth = a - b * known through pieces of the past, as many URLs finished in each; later
 * ones weigh more, since links to what is easily found say little of the rest. */
static void find_trend(const ForecastHistory *history, Trend *trend)
{
    const ForecastPoint *last = forecast_history_last(history);
    const ForecastPoint *from = history->points;
    double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0; /* sums, x = known, y = growth */
    for (unsigned i = 1; i <= TREND_PIECES; i++) {
        const ForecastPoint *to = when_finished(history, last->finished * i / TREND_PIECES);
        double finished = to->finished - from->finished;
        if (finished <= 0) {
            continue;
        }
        double x = (to->seen + from->seen) / 2 - last->seen;
        double y = (to->seen - from->seen) / finished;
        double weight = finished * i * i;
        w += weight;
        wx += weight * x;
        wy += weight * y;
        wxx += weight * x * x;
        wxy += weight * x * y;
        from = to;
    }
    double spread = w * wxx - wx * wx;
    double slope = spread > 0 ? (w * wxy - wx * wy) / spread : 0;
    double mean = ratio(wy, w, 0);
    *trend = (Trend){.growth = fmax(mean, 0)};
    if (-slope * last->seen > mean * TREND_LEAST) {
        trend->per_known = -slope;
        trend->growth = fmax(mean - slope * wx / w, mean / 100);
    }
}

static void find_growth(Forecast *forecast, const ForecastHistory *history, Trend *trend)
{
    const ForecastPoint *last = forecast_history_last(history);
    const ForecastPoint *half = when_finished(history, last->finished / 2);
    const ForecastPoint *quarter = when_finished(history, last->finished * 3 / 4);
    double lately = ratio(last->seen - quarter->seen, last->finished - quarter->finished, 0);
    find_trend(history, trend);
    forecast->growth = fmax(lately, 0);
    forecast->pages_per_url = ratio(last->pages - half->pages, last->finished - half->finished,
                                    ratio(last->pages, last->finished, 1));
    forecast->bytes_per_page = ratio(last->bytes - half->bytes, last->pages - half->pages,
                                     ratio(last->bytes, last->pages, 0));
}

/* ---- the end of the frontier ---- */

/* URLs that are finished until nothing is left when each brings less the more are known:
 * d known / d finished = growth - per_known * (known - known now). */
static double finished_by_trend(double queued, const Trend *trend)
{
    double undiscovered = trend->growth / trend->per_known;
    double least = queued;
    double most = queued + undiscovered;
    for (int i = 0; i < BISECTIONS && most - least > 0.5; i++) {
        double middle = (least + most) / 2;
        double known = undiscovered * (1 - exp(-trend->per_known * middle));
        if (queued + known > middle) {
            least = middle;
        } else {
            most = middle;
        }
    }
    return most;
}

/* ---- time ---- */

/* URLs to come from a host, for each that it has queued now. */
static double scale_of(const Forecast *forecast, const ForecastInput *input, ForecastGrowth growth)
{
    double scale = ratio(forecast->urls_left[growth], input->load->urls, 1);
    return isfinite(scale) ? scale : 1e6;
}

/* Until this number of pages more is there, at a rate; NEVER when the rate is not known. */
static double seconds_for(const Forecast *forecast, const ForecastInput *input, double pages,
                          double rate, double *polite)
{
    double scale = scale_of(forecast, input, GROWTH_TREND);
    *polite = forecast_load_seconds(input->load, scale, pages);
    double by_rate = rate > 0 ? pages / rate : NEVER;
    return fmax(pages > 0 ? by_rate : 0, *polite);
}

/* ---- limits ---- */

/* A limit that is met after a number of pages. */
static ForecastEnd after_pages(const Forecast *forecast, const ForecastInput *input, double pages)
{
    double polite = 0;
    ForecastEnd end = {.holds = true, .pages = fmax(pages, 0)};
    if (end.pages > forecast->pages_left[GROWTH_TREND]) {
        end.pages = NEVER;
        end.seconds = end.soonest = end.latest = NEVER;
        return end;
    }
    double most = fmax(forecast->able, forecast->rate_most);
    double least = forecast->able > forecast->rate ? forecast->rate : forecast->rate_least;
    end.seconds = seconds_for(forecast, input, end.pages, forecast->able, &polite);
    end.soonest = seconds_for(forecast, input, end.pages, most, &polite);
    end.latest = seconds_for(forecast, input, end.pages, least, &polite);
    return end;
}

/* A limit that is met after so much time. */
static ForecastEnd after_seconds(const Forecast *forecast, const ForecastInput *input,
                                 double seconds)
{
    ForecastEnd end = {.holds = true, .seconds = fmax(seconds, 0)};
    double scale = scale_of(forecast, input, GROWTH_TREND);
    double all = 0;
    double polite = forecast_load_fetched(input->load, scale, end.seconds, &all);
    end.soonest = end.latest = end.seconds;
    end.pages = fmin(polite, forecast->able * end.seconds);
    if (end.seconds > forecast->seconds_left[GROWTH_TREND]) {
        end.pages = NEVER;
        end.seconds = end.soonest = end.latest = NEVER;
    }
    return end;
}

static void find_limits(Forecast *forecast, const ForecastInput *input)
{
    const Config *config = input->config;
    const ForecastPoint *now = forecast_history_last(input->history);
    double run_s = now->elapsed_s - input->history->run_begin_s;
    if (input->limits_hold && config->crawl_max_pages > 0) {
        forecast->ends[FORECAST_MAX_PAGES] =
            after_pages(forecast, input, (double)config->crawl_max_pages - now->pages);
    }
    if (input->limits_hold && config->crawl_max_bytes > 0 && forecast->bytes_per_page > 0) {
        double left = (double)config->crawl_max_bytes - now->bytes;
        forecast->ends[FORECAST_MAX_BYTES] =
            after_pages(forecast, input, left / forecast->bytes_per_page);
    }
    if (input->limits_hold && config->crawl_max_duration > 0) {
        forecast->ends[FORECAST_MAX_DURATION] =
            after_seconds(forecast, input, (double)config->crawl_max_duration / 1e3 - run_s);
    }
    if (config->crawl_max_total_duration > 0) {
        forecast->ends[FORECAST_MAX_TOTAL_DURATION] = after_seconds(
            forecast, input, (double)config->crawl_max_total_duration / 1e3 - now->elapsed_s);
    }
    if (forecast->disk_per_page > 0) {
        double room = input->disk_free - (double)config->crawl_min_free_disk;
        forecast->ends[FORECAST_DISK] =
            after_pages(forecast, input, room / forecast->disk_per_page);
    }
    double likely = forecast->seconds_left[GROWTH_TREND];
    forecast->ends[FORECAST_NOTHING_LEFT] = (ForecastEnd){
        .holds = !input->never_ends,
        .pages = forecast->pages_left[GROWTH_TREND],
        .seconds = likely,
        .soonest = fmin(forecast->seconds_left[GROWTH_NONE], likely * (1 - MODEL_EARLY)),
        .latest = fmax(forecast->seconds_left[GROWTH_STEADY], likely * (1 + MODEL_LATE))};
}

/* ---- all of it ---- */

static void find_first(Forecast *forecast, const ForecastInput *input)
{
    const ForecastEnd *best = NULL;
    for (unsigned i = 0; i < FORECAST_LIMITS; i++) {
        const ForecastEnd *end = &forecast->ends[i];
        if (end->holds && isfinite(end->seconds) &&
            (best == NULL || end->seconds < best->seconds)) {
            best = end;
            forecast->first = (ForecastLimit)i;
        }
    }
    forecast->has_end = best != NULL;
    if (best == NULL) {
        return;
    }
    forecast->pages = best->pages;
    forecast->bytes = best->pages * forecast->bytes_per_page;
    /* WARC files and logs grow with pages, the database with known URLs. */
    const ForecastPoint *now = forecast_history_last(input->history);
    double files = ratio(fmax(input->directory_bytes - input->database_bytes, 0), now->pages, 0);
    double urls = fmin(best->pages / forecast->pages_per_url, forecast->urls_left[GROWTH_TREND]);
    double known = urls * forecast->growth;
    if (isfinite(forecast->urls_left[GROWTH_TREND]) && urls > 0) {
        /* Not more than are still to be found. */
        known = (forecast->urls_left[GROWTH_TREND] - input->load->urls) * urls /
                forecast->urls_left[GROWTH_TREND];
    }
    forecast->disk = files * best->pages + ratio(input->database_bytes, now->seen, 0) * known;
    forecast->rate_seconds = forecast->able > 0 ? best->pages / forecast->able : NEVER;
    (void)seconds_for(forecast, input, best->pages, forecast->able, &forecast->polite_seconds);
}

void forecast_make(Forecast *forecast, const ForecastInput *input)
{
    Trend trend;
    const ForecastPoint *now = forecast_history_last(input->history);
    *forecast = (Forecast){.bound = ""};
    find_rates(forecast, input->history);
    bool is_polite = strcmp(forecast->bound, "politeness") == 0;
    forecast->able = is_polite ? fmax(best_rate(input->history), forecast->rate) : forecast->rate;
    find_growth(forecast, input->history, &trend);
    forecast->pages_per_url = fmin(fmax(forecast->pages_per_url, 0.001), 1);
    forecast->disk_per_page = ratio(input->directory_bytes, now->pages, 0);
    double queued = input->load->urls;
    double growth = forecast->growth;
    forecast->urls_left[GROWTH_NONE] = queued;
    double without_end = queued > 0 ? NEVER : 0;
    forecast->urls_left[GROWTH_STEADY] =
        growth < GROWTH_LIMIT ? queued / (1 - growth) : without_end;
    forecast->urls_left[GROWTH_TREND] = trend.per_known > 0 ? finished_by_trend(queued, &trend)
                                                            : forecast->urls_left[GROWTH_STEADY];
    static const double probability[GROWTHS] = {
        [GROWTH_NONE] = 0.05, [GROWTH_TREND] = 0.5, [GROWTH_STEADY] = 0.95};
    for (unsigned g = 0; g < GROWTHS; g++) {
        double urls = forecast->urls_left[g];
        if (!isfinite(urls)) {
            forecast->pages_left[g] = NEVER;
            forecast->seconds_left[g] = NEVER;
            continue;
        }
        double scale = scale_of(forecast, input, (ForecastGrowth)g);
        double all = 0;
        (void)forecast_load_fetched(input->load, scale, 0, &all); /* full hosts take no more */
        forecast->pages_left[g] = all;
        double by_rate = forecast->able > 0 ? all / forecast->able : NEVER;
        double polite = forecast_load_end(input->load, scale, probability[g]);
        forecast->seconds_left[g] = fmax(all > 0 ? by_rate : 0, polite);
    }
    find_limits(forecast, input);
    find_first(forecast, input);
    forecast->slowest = forecast_load_slowest(input->load);
}
