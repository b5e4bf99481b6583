from table import total


def test_total(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('name,price\n"a, b",1.5\nc,2\n')
    assert total(path, "price") == 3.5
