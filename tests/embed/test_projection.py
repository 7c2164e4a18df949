"""Projections to the plane, and clusters."""

import numpy as np
import pytest
from merganser import _core
from merganser.embed.clusters import clustered
from merganser.embed.projection import project, tsne
from merganser.errors import SettingsError


def clouds(n: int, centers: int = 6) -> np.ndarray:  # type: ignore[type-arg]
    chance = np.random.default_rng(3)
    places = chance.normal(size=(centers, 20)) * 3
    return (places[np.arange(n) % centers] + chance.normal(size=(n, 20))).astype(np.float32)


def test_tsne_reports_how_far_it_is_and_ends_with_the_projection() -> None:
    vectors = clouds(300)
    searched: list[float] = []
    planes = list(tsne(vectors, searched.append))
    done = [share for share, _ in planes]
    assert done == sorted(done) and done[-1] == 1 and searched == [0]
    assert (planes[-1][1] == project(vectors)).all()
    assert (planes[-1][1] == list(tsne(vectors, threads=3))[-1][1]).all(), "threads do not change it"
    plane = planes[-1][1]
    apart = np.linalg.norm(plane[:, None] - plane, axis=2)
    np.fill_diagonal(apart, np.inf)
    assert np.mean(apart.argmin(axis=1) % 6 == np.arange(300) % 6) > 0.98


def test_a_check_that_raises_stops_tsne() -> None:
    def stop(done: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        next(tsne(clouds(40), stop))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_few_and_equal_vectors_have_finite_places(n: int) -> None:
    for vectors in (clouds(n), np.ones((n, 20), np.float32), np.zeros((n, 1), np.float32)):
        plane = project(vectors)
        assert plane.shape == (n, 2) and np.isfinite(plane).all()


def test_invalid_neighbors_are_refused() -> None:
    with pytest.raises(SettingsError, match="t-SNE needs finite coordinates"):
        _core.Tsne(np.zeros(4), np.array([1, 2], np.uint32), np.ones(2), perplexity=1.0, steps=10)


def test_clusters_are_found_and_the_largest_comes_first() -> None:
    vectors = np.concatenate([clouds(120, 4), clouds(120, 4)[::4]])
    groups, centers = clustered(vectors, 4)
    assert centers.shape == (4, 20)
    sizes = np.bincount(groups)
    assert sizes.tolist() == [60, 30, 30, 30]
    truth = np.concatenate([np.arange(120) % 4, np.zeros(30, int)])
    assert all(len(set(truth[groups == nth])) == 1 for nth in range(4))
    assert (groups == clustered(vectors, 4)[0]).all()


def test_there_are_at_most_as_many_clusters_as_directions() -> None:
    groups, centers = clustered(np.ones((5, 3), np.float32))
    assert len(centers) == 1 and set(groups.tolist()) == {0}
