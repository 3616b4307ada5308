/* SPDX-License-Identifier: Apache-2.0
 * verify: the proof as text or JSON. */
#include "api/api.h"
#include "verify/verify.h"

static enum oa_error verify_mechanisms(oa_context *c, const char *spec, int quick,
                                       struct oa_proof *p, const struct oa_output *out)
{
    struct oa_text t;
    OA_TRY(oa_proof_make(c, spec, quick != 0, NULL, p));
    oa_text_init(&t, c);
    if (oa_wants_json(out))
        oa_proof_json(p, &t);
    else
        oa_proof_text(p, out ? out->width : 0, &t);
    OA_TRY(oa_emit(out, &t));
    if (p->failures)
        return oa_fail(c, OA_DISPROVED, "%d of %ld checks failed", p->failures, p->checks);
    return OA_OK;
}

enum oa_error oa_verify(oa_context *c, const char *spec, int quick, const struct oa_output *out)
{
    struct oa_proof p = { .context = c };
    OA_TRY(oa_status(c));
    enum oa_error e = verify_mechanisms(c, spec, quick, &p, out);
    oa_proof_free(&p);
    return e;
}
