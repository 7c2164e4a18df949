"""Pages that are used by mouse or by keyboard alone, at two widths and in two color schemes.

`COMBINATIONS` are the eight of {mouse, keyboard} × {1280, 390 px} × {light, dark}; a test with the fixture
`walk` runs in each. A keyboard reaches an element by Tab, as a user would: what Tab does not reach fails.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

from opened import problems, watched

COMBINATIONS = list(product(("mouse", "keyboard"), (1280, 390), ("light", "dark")))
NAMES = ["-".join(map(str, each)) for each in COMBINATIONS]

#: The most presses of Tab between two elements of a page.
_FARTHEST = 150


class Hand:
    """Uses the controls of a page by mouse or by keyboard."""

    def __init__(self, page: Any, kind: str) -> None:
        self.page = page
        self.is_mouse = kind == "mouse"

    def reach(self, target: Any) -> None:
        """Move the focus to an element with Tab, or Shift and Tab if it comes before."""
        target.wait_for()
        element = target.element_handle()
        for _ in range(_FARTHEST):
            where = self.page.evaluate(
                """(element) => {
                  const now = document.activeElement;
                  if (now === element) return "there";
                  const order = now.compareDocumentPosition(element);
                  const isBefore = order & Node.DOCUMENT_POSITION_PRECEDING && now !== document.body;
                  return isBefore ? "before" : "after";
                }""",
                element,
            )
            if where == "there":
                return
            self.page.keyboard.press("Shift+Tab" if where == "before" else "Tab")
        raise AssertionError(f"{target} cannot be reached with Tab")

    def press(self, target: Any) -> None:
        """Use a button, a link or the summary of a menu."""
        if self.is_mouse:
            target.click()
        else:
            self.reach(target)
            self.page.keyboard.press("Enter")

    def switch(self, target: Any) -> None:
        """Toggle a check box."""
        if self.is_mouse:
            target.click()
        else:
            self.reach(target)
            self.page.keyboard.press("Space")

    def write(self, field: Any, text: str) -> None:
        """Replace the contents of a field."""
        if self.is_mouse:
            field.click()
        else:
            self.reach(field)
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(text)

    def choose(self, select: Any, value: str) -> None:
        """Choose an option. A browser without a screen has no list to click: there, only its result."""
        if self.is_mouse:
            select.select_option(value)
            return
        self.reach(select)
        index = """(select, value) => [...select.options].findIndex((option) => option.value === value)
          - select.selectedIndex"""
        steps = select.evaluate(index, value)
        for _ in range(abs(steps)):
            self.page.keyboard.press("ArrowDown" if steps > 0 else "ArrowUp")
        assert select.input_value() == value

    def pick(self, group: Any, label: str) -> None:
        """Choose a segment of a group of radio buttons, which Tab reaches as one."""
        if self.is_mouse:
            group.get_by_text(label, exact=True).click()
            return
        wanted = group.get_by_label(label, exact=True)
        self.reach(group.locator("input:checked"))
        for _ in range(group.locator("input").count()):
            if wanted.is_checked():
                return
            self.page.keyboard.press("ArrowRight")
        assert wanted.is_checked()

    def turn(self, tabs: Any, name: str) -> None:
        """Choose a tab, which the arrow keys move between."""
        if self.is_mouse:
            tabs.get_by_role("tab", name=name).click()
            return
        self.reach(tabs.locator("[aria-selected=true]"))
        for _ in range(tabs.get_by_role("tab").count()):
            if tabs.get_by_role("tab", name=name).get_attribute("aria-selected") == "true":
                return
            self.page.keyboard.press("ArrowRight")

    def slide(self, slider: Any, key: str, share: float) -> None:
        """Move a slider: with a key, or to a share of its width."""
        if self.is_mouse:
            slider.scroll_into_view_if_needed()
            box = slider.bounding_box()
            self.page.mouse.click(box["x"] + 8 + (box["width"] - 16) * share, box["y"] + box["height"] / 2)
        else:
            self.reach(slider)
            self.page.keyboard.press(key)

    def take(self, pane: Any, nth: int) -> None:
        """Choose a token of a pane."""
        if self.is_mouse:
            pane.locator(".cell").nth(nth).click()
            return
        self.reach(pane)
        self.page.keyboard.press("Home")
        for _ in range(nth):
            self.page.keyboard.press("ArrowRight")

    def saved(self, target: Any) -> tuple[str, bytes]:
        """Press a button that saves a file; return its name and contents."""
        with self.page.expect_download() as download:
            self.press(target)
        return download.value.suggested_filename, Path(download.value.path()).read_bytes()


class Walk:
    """The windows of one combination."""

    def __init__(self, browser: Any, address: str, kind: str, width: int, scheme: str) -> None:
        self.browser = browser
        self.address = address
        self.kind = kind
        self.width = width
        self.scheme = scheme

    @contextmanager
    def at(self, where: str, expected: str | None = None) -> Iterator[tuple[Any, Hand]]:
        """Open a view, or the page of a URL, in a new window. On exit, check what `watched` checks, the color
        scheme, and axe.
        """
        url = where if "://" in where else f"{self.address}#/{where}"
        height = 844 if self.width < 600 else 900
        how: dict[str, Any] = {"scheme": self.scheme, "width": self.width, "height": height}
        with watched(self.browser, url, expected=expected, **how) as page:
            if url != where:
                page.wait_for_selector("html[data-ready]")
            yield page, Hand(page, self.kind)
            background = page.evaluate("getComputedStyle(document.body).backgroundColor")
            assert background == {"light": "rgb(255, 255, 255)", "dark": "rgb(23, 25, 28)"}[self.scheme]
            assert problems(page) == []


def visit(page: Any, hand: Hand, view: str) -> None:
    """Open another view from the menu."""
    hand.press(page.locator(f"nav a[data-view={view}]"))
    page.wait_for_selector(f".view-{view} > *")


def shown(page: Any, text: str) -> None:
    """Wait until the tokens of a text are shown."""
    page.wait_for_selector(f"textarea[data-shown='{len(text.encode('utf-16-le')) // 2}']")
