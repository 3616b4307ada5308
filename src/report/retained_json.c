/* SPDX-License-Identifier: Apache-2.0
 * The retained share of an entry in results.json. */
#include "base/json_read.h"
#include "base/json_write.h"
#include "report/results.h"
#include "report/retained.h"

#include <math.h>

static json_t *reason_json(const struct oa_comparison *k, const struct oa_summary *s,
                           enum oa_retained_state state, oa_context *c)
{
    struct oa_text reason;
    oa_text_init(&reason, c);
    oa_retained_reason(k, s, state, &reason);
    json_t *value = oa_json_string(reason.length ? reason.s : NULL);
    oa_text_free(&reason);
    return value;
}

json_t *oa_retained_json(oa_context *c, const struct oa_comparison *k, const struct oa_summary *s,
                         int entry)
{
    int whole = oa_retained_whole(k, s);
    if (whole < 0 || entry == s->uniform)
        return json_null();
    struct oa_retained r = oa_retained_of(k, s, entry);
    bool bounded = r.state == OA_RETAINED_BOUNDED;
    json_t *object = json_object();
    oa_json_set(c, object, "of", json_integer(whole));
    oa_json_set(c, object, "n", json_integer(r.share.n));
    oa_json_set(c, object, "value", oa_json_number(oa_retained_shown(&r) ? r.share.value : NAN));
    oa_json_set(c, object, "low", oa_json_number(bounded ? r.share.low : NAN));
    oa_json_set(c, object, "high", oa_json_number(bounded ? r.share.high : NAN));
    oa_json_set(c, object, "reason", reason_json(k, s, r.state, c));
    return object;
}
