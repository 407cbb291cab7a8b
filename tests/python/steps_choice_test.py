"""Steps of chosen episodes: where=, min_length=, episodes=, and take(), skip(), shard() before."""

import pickle
import unittest

import recordpipe as rp
import rlds

LENGTHS = (5, 1, 0, 17, 30, 8)  # of the episodes of rlds.write()


class Choice(rlds.StepsTest):
    def chosen(self, steps):
        """The numbers of the episodes of the steps, in order."""
        features = {"number": "episode_metadata/number"}
        found = [row["number"] for row in steps(features=features)]
        return [number for i, number in enumerate(found) if i == 0 or found[i - 1] != number]

    def of_train(self, **choice):
        return self.chosen(lambda **arguments: self.steps(**arguments, **choice))

    def test_by_length_scalars_and_a_function(self):
        self.assertEqual(self.of_train(min_length=8), [3, 4, 5])
        where = "steps < 8 or episode_metadata/number == 4"
        self.assertEqual(self.of_train(where=where), [0, 1, 4])
        self.assertEqual(self.of_train(where="steps > 1", min_length=10), [3, 4])
        seen = []
        self.assertEqual(
            self.of_train(episodes=lambda e: seen.append(e) or e["steps"] % 2 == 1), [0, 1, 3]
        )
        self.assertEqual([episode["steps"] for episode in seen], list(LENGTHS))
        self.assertEqual(
            seen[3],
            {"episode_metadata": {"file_path": b"episode_3", "number": 3}, "steps": 17},
        )
        # Those that `where` leaves out are not asked about.
        seen.clear()
        self.of_train(where="steps == 17", episodes=lambda e: seen.append(e) or True)
        self.assertEqual([episode["steps"] for episode in seen], [17])

    def test_rows_are_those_of_the_whole_episodes(self):
        window = {"tick": range(-2, 3)}
        expected = [
            row["tick"].tolist()
            for row, (episode, _) in zip(self.steps(offsets=window), self.numbered, strict=True)
            if len(episode["tick"]) >= 8
        ]
        found = self.steps(offsets=window, min_length=8)
        self.assertEqual(len(found), 17 + 30 + 8)
        self.assertEqual([row["tick"].tolist() for row in found], expected)
        self.assertEqual(found[17 + 30]["tick"].tolist(), expected[17 + 30])
        # All of them can be shuffled, without a buffer.
        shuffled = [row["tick"].tolist() for row in found.shuffle(seed=3)]
        self.assertNotEqual(shuffled, expected)
        self.assertCountEqual(map(tuple, shuffled), map(tuple, expected))

    def test_operators_of_episodes_before(self):
        episodes = rp.tfds(self.data)
        self.assertEqual(self.chosen(episodes.take(4).steps), [0, 1, 3])
        self.assertEqual(self.chosen(episodes.skip(4).steps), [4, 5])
        self.assertEqual(self.chosen(episodes.shard(2, 1).steps), [1, 3, 5])
        self.assertEqual(self.chosen(episodes.skip(1).shard(2, 0).take(2).steps), [1, 3])
        for drop in (False, True):
            shard = episodes.skip(1).shard(2, 1, drop_remainder=drop)
            self.assertEqual(self.chosen(shard.steps), [4])  # 2, without steps, and 4
            shard = episodes.skip(1).shard(2, 0, drop_remainder=drop)
            self.assertEqual(self.chosen(shard.steps), [1, 3] if drop else [1, 3, 5])
        self.assertEqual(len(episodes.take(4).steps(min_length=5)), 5 + 17)
        self.assertEqual(len(rp.tfds(self.data, "train[3:]").take(1).steps()), 17)
        for refused in (episodes.shuffle(4), episodes.filter(len), episodes.repeat(2)):
            with self.assertRaisesRegex(
                TypeError, r"take\(\), skip\(\) and shard.*\(\) may follow.*episodes=func"
            ):
                refused.steps()

    def test_a_choice_is_part_of_states_and_pickles(self):
        chosen = self.steps(episodes=lambda episode: episode["steps"] > 8).shuffle(seed=1).batch(4)
        expected = [batch["tick"].tolist() for batch in chosen]
        again = pickle.loads(pickle.dumps(chosen))
        self.assertEqual([batch["tick"].tolist() for batch in again], expected)
        iterator = iter(chosen)
        next(iterator)
        state = iterator.state_dict()
        same = iter(self.steps(where="steps > 8").shuffle(seed=1).batch(4))
        same.load_state_dict(state)
        self.assertEqual([batch["tick"].tolist() for batch in same], expected[1:])
        other = iter(self.steps(where="steps != 17 and steps > 7").shuffle(seed=1).batch(4))
        with self.assertRaises(rp.InvalidArgumentError):
            other.load_state_dict(state)

    def test_explain_shows_what_was_called(self):
        steps = (
            rp.tfds(self.data)
            .take(5)
            .steps(offsets={"action": [0, 1]}, where="steps > 4", min_length=2)
        )
        self.assertIn(
            "take(5)\nsteps(offsets={'action': [0, 1]}, where='steps > 4', min_length=2)",
            steps.explain(),
        )

    def test_refusals(self):
        with self.assertRaisesRegex(rp.InvalidArgumentError, r"min_length=31\) chooses none of 6"):
            self.steps(min_length=31)
        with self.assertRaisesRegex(rp.NotFoundError, "length.*there are.*episode_metadata/number"):
            self.steps(where="length > 3")
        with self.assertRaisesRegex(rp.InvalidArgumentError, "where"):
            self.steps(where="steps >")
        with self.assertRaisesRegex(TypeError, "min_length is an integer"):
            self.steps(min_length="3")
        with self.assertRaisesRegex(TypeError, "episodes is a function"):
            self.steps(episodes=[1, 2])
        with self.assertRaises(ZeroDivisionError):
            self.steps(episodes=lambda episode: 1 // 0)


if __name__ == "__main__":
    unittest.main()
