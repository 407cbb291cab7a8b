"""Helpers for the tests of `tfrecord view`: what a page contains."""
import json
import re

from tfrecord_test_case import TfrecordTest


def scripts(page):
    return re.findall(r"<script([^>]*)>(.*?)</script>", page, re.DOTALL)


def cards(page):
    return json.loads(scripts(page)[1][1])


def note(page):
    """The sentences above the records."""
    return re.search(r'<h2 id="records-title">Records</h2>\n<p class="note">([^<]*)</p>',
                     page).group(1)


class ViewTest(TfrecordTest):
    def page(self, *arguments, **options):
        return self.run_it("view", *arguments, **options)
