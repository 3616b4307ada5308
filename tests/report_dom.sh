#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A report as a browser understands it: the elements are there, nothing of the text has become markup, and the script
# has run without an error. Usage: report_dom.sh TEST_REPORT. 77 = skipped: no browser.
. "$(dirname "$0")/dom"

dump six
expect six 1 '<h1 id="recommendation">More seeds are needed: '
expect six 1 '<p id="conclusion">'
expect six 14 '<svg class="oa"'
expect six 12 '<tr data-series='         # what is asked, and more of each
expect six 2 '<tr data-series="[0-9]*" class="reference">'
expect six 1 '<script>'
expect six 4 '<input type="radio"'
expect six 6 'role="button"'           # the script made the legend a row of buttons
expect six 10 'aria-sort="none"'       # and the columns sortable: seven, and three more
expect six 0 '<b>alert'
expect six 1 '<span class="verdict v5">failed 1 of 3</span>'

dump one_seed
expect one_seed 1 '</code> has the lowest loss. One seed gives no verdict'
expect one_seed 4 '<span class="verdict v4">'

dump alone
expect alone 1 '</code> reached a validation loss of'
expect alone 0 'id="differences"'
