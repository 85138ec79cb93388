from policy_inertia.tabular import garnet, overtaking
from policy_inertia.tabular.pictures import draw_improvement, draw_tradeoff
from policy_inertia.tabular.portrait import growth, portrait


def test_a_portraits_points_are_under_its_curve(tmp_path):
    found = portrait(overtaking(ahead=2, oncoming=2))
    for rate, reached in (found.core, found.nested, found.rule):
        assert reached <= found.curve.best_return(rate) + 1e-6
    assert found.nested[0] < found.core[0]
    for draw in (draw_improvement, draw_tradeoff):
        draw([found], tmp_path / "picture.png")
        assert (tmp_path / "picture.png").stat().st_size > 10_000


def test_500_states_and_5_actions_take_seconds():
    (cost,) = growth(states=(500,))
    assert cost.evaluation + cost.iteration + cost.program < 60  # processor time; about 7 s


def test_growth_goes_up_in_size():
    assert [c.states for c in growth(states=(10, 20))] == [10, 20]
    assert garnet(0).states == 6
