/* SPDX-License-Identifier: Apache-2.0
 * Axes: from values to pixels, round ticks, grid lines. */
#include "print/svg.h"

#include <math.h>
#include <string.h>

/* ---- range ---- */

/* No value is drawn further out, so that no difference of two overflows; what is nearer to 0 than
 * SMALLEST is drawn there, so that no step between ticks vanishes. */
#define LARGEST 1e300
#define SMALLEST 1e-290
#define OUTSIDE                                                                                    \
    100 /* widths of the axis: further away a point is not drawn exactly, nobody sees it */

void oa_axis_include(struct oa_axis *a, double x)
{
    if (!isfinite(x) || (a->log && x <= 0))
        return;
    x = fmin(fmax(x, a->log ? SMALLEST : -LARGEST), LARGEST);
    if (a->low > a->high)
        a->low = a->high = x;
    a->low = fmin(a->low, x);
    a->high = fmax(a->high, x);
}

static double on_scale(const struct oa_axis *a, double x)
{
    return a->log ? log10(x) : x;
}

static double off_scale(const struct oa_axis *a, double x)
{
    return a->log ? pow(10, fmin(fmax(x, log10(SMALLEST)), log10(LARGEST)))
                  : fmin(fmax(x, -LARGEST), LARGEST);
}

void oa_axis_pad(struct oa_axis *a, double share)
{
    if (a->low > a->high) {
        a->low = a->log ? 1 : 0;
        a->high = a->log ? 10 : 1;
    }
    double low = on_scale(a, a->low), high = on_scale(a, a->high), margin = share * (high - low);
    double size = fmax(fabs(low), fabs(high));
    if (high - low <= 1e-12 * size || size < SMALLEST) {
        margin = a->log ? 0.3 : size < SMALLEST ? 1 : 0.05 * size;
        low = fmin(low, high - margin); /* at an end of what is drawn only one side can be opened */
        high = fmax(high, low + margin);
    }
    a->low = off_scale(a, low - margin);
    a->high = off_scale(a, high + margin);
}

double oa_axis_at(const struct oa_axis *a, double x)
{
    double low = on_scale(a, a->low), high = on_scale(a, a->high);
    double share = (on_scale(a, x) - low) / (high - low);
    return a->from + (a->to - a->from) * fmin(fmax(share, -OUTSIDE), OUTSIDE);
}

/* ---- ticks ---- */

/* The smallest of 1, 2, 5 times a power of ten that makes at most `about` steps. */
static double round_step(double range, int about)
{
    double step = pow(10, floor(log10(range / about)));
    if (step * about >= range)
        return step;
    if (2 * step * about >= range)
        return 2 * step;
    return 5 * step * about >= range ? 5 * step : 10 * step;
}

static int linear_ticks(const struct oa_axis *a, int about, double *ticks)
{
    double step = round_step(a->high - a->low, about), first = ceil(a->low / step - 1e-9);
    int n = 0;
    for (double i = first; n < OA_TICKS && i * step <= a->high + 1e-9 * step; i++)
        ticks[n++] = i == 0 ? 0 : i * step;
    return n;
}

/* Within a wide range powers of ten, every one or every few; in a narrower one their double and
 * fivefold too. */
static int log_ticks(const struct oa_axis *a, int about, double *ticks)
{
    static const double factors[] = { 1, 2, 5 };
    double decades = log10(a->high) - log10(a->low);
    int every = (int)fmax(1, ceil(decades / about)), n = 0;
    for (int e = (int)floor(log10(a->low)); e <= (int)ceil(log10(a->high)); e++)
        for (int f = 0; f < (3 * decades <= about ? 3 : 1) && n < OA_TICKS; f++) {
            double x = factors[f] * pow(10, e);
            if (e % every == 0 && x >= a->low * (1 - 1e-9) && x <= a->high * (1 + 1e-9))
                ticks[n++] = x;
        }
    return n;
}

int oa_axis_ticks(const struct oa_axis *a, int about, double ticks[OA_TICKS])
{
    int n = a->log ? log_ticks(a, about, ticks) : 0;
    if (n < 2)
        n = linear_ticks(a, about, ticks);
    while (n < 2 && about < OA_TICKS) /* one tick is no scale */
        n = linear_ticks(a, ++about, ticks);
    return n;
}

/* ---- labels ---- */

static void put(char *out, const char *format, ...) OA_PRINTF(2, 3);
static void put(char *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    oa_format(out, OA_NUMBER, format, arguments);
    va_end(arguments);
}

/* Where units end and where decimals would be too many: as many digits as tell the ticks apart. */
static void label_with_exponent(double x, double step, double largest, char *out)
{
    int digits = step > 0 ? (int)(floor(log10(largest) + 1e-9) - floor(log10(step) + 1e-9)) + 1 : 1;
    put(out, "%.*g", digits < 17 ? digits : 17, x);
}

static void label_with_unit(double x, double step, int unit, char *out)
{
    static const char *const units[] = { "", "k", "M", "G", "T", "P", "E" };
    char number[OA_NUMBER];
    step /= pow(1000, unit);
    put(number, "%.*f", step > 0 ? (int)fmax(0, -floor(log10(step) + 1e-9)) : 0,
        x / pow(1000, unit));
    put(out, "%.40s%s", number, x == 0 ? "" : units[unit]);
}

/* The largest power of ten that x > 0 is a multiple of. */
static double grain(double x)
{
    double g = pow(10, floor(log10(x) + 1e-9));
    for (int digits = 1; digits < 12 && fabs(x / g - round(x / g)) > 1e-6; digits++)
        g /= 10;
    return g;
}

/* On a logarithmic axis every tick has a unit and digits of its own; on another one up to 9999 is
 * written out. */
void oa_axis_label(const struct oa_axis *a, const double *ticks, int count, int i, char *out)
{
    double x = ticks[i], step = a->log ? grain(x) : count > 1 ? ticks[1] - ticks[0] : fabs(x);
    double largest = a->log ? x : fmax(fabs(ticks[0]), fabs(ticks[count - 1]));
    int unit = 0;
    for (double rest = largest; unit < 6 && rest >= (a->log || unit > 0 ? 1000 : 10000);
         rest /= 1000)
        unit++;
    if (largest >= 1e22 || (step > 0 && step < 1e-12))
        label_with_exponent(x, step, largest, out);
    else
        label_with_unit(x, step, unit, out);
}

/* A label in pixels: digits, in DejaVu Sans, the widest of the usual faces, and at the end an M,
 * which is wider. */
static double label_width(const char *label)
{
    return 7.7 * oa_text_width(label) + 3;
}

double oa_axis_label_width(const struct oa_axis *a, int about)
{
    double ticks[OA_TICKS];
    char label[OA_NUMBER];
    int n = oa_axis_ticks(a, about, ticks);
    double widest = 0;
    for (int i = 0; i < n; i++) {
        oa_axis_label(a, ticks, n, i, label);
        widest = fmax(widest, label_width(label));
    }
    return widest;
}

/* ---- drawing ---- */

static void draw_y(struct oa_svg *g, const struct oa_axis *y)
{
    double ticks[OA_TICKS];
    char label[OA_NUMBER];
    int n = oa_axis_ticks(y, (int)((g->bottom - g->top) / 55) + 1, ticks);
    for (int i = 0; i < n; i++) {
        double at = oa_axis_at(y, ticks[i]);
        oa_text_printf(g->out, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>", g->left, at,
                       g->right);
        oa_axis_label(y, ticks, n, i, label);
        oa_svg_text(g, g->left - 8, at, "end", "tick", label);
    }
}

static void draw_x(struct oa_svg *g, const struct oa_axis *x)
{
    double ticks[OA_TICKS];
    char label[OA_NUMBER];
    int n = oa_axis_ticks(x, (int)((g->right - g->left) / 85) + 1, ticks);
    for (int i = 0; i < n; i++) {
        double at = oa_axis_at(x, ticks[i]);
        oa_text_printf(g->out, "<path class=\"axis\" d=\"M%.1f %.1fv5\"/>", at, g->bottom);
        oa_axis_label(x, ticks, n, i, label);
        double half = label_width(label) / 2;
        oa_svg_text(g, fmin(fmax(at, half), g->width - half), g->bottom + 16, "middle", "tick",
                    label);
    }
}

void oa_svg_axes(struct oa_svg *g, const struct oa_axis *x, const struct oa_axis *y,
                 const char *x_label, const char *y_label)
{
    if (y)
        draw_y(g, y);
    draw_x(g, x);
    oa_text_printf(g->out, "<path class=\"axis\" d=\"M%.1f %.1fH%.1f\"/>\n", g->left, g->bottom,
                   g->right);
    if (y_label)
        oa_svg_text(g, 2, g->top - 18, "start", "title", y_label);
    oa_svg_text(g, g->right, g->bottom + 36, "end", "title", x_label);
}
