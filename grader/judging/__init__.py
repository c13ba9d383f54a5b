"""Compares observations with references and names misconceptions; hidden from the kernels of a class.

A judge is a pure function of an observation and a seed. Where the answer is a value, a judge holds a reference, written
as one would write the right answer, and a table of misconceptions, each an edit of the reference's source:

    def optimizer_bytes(parameters: int, bits: int) -> int:
        moments = 2
        return moments * parameters * bits // 8

    TABLE = ReferenceTable(
        optimizer_bytes,
        Misconception(
            "one_moment_counted",
            "You count one moment, but Adam keeps two for each parameter: look at what `state` holds after a step.",
            {"moments = 2": "moments = 1"},
        ),
        Misconception("bits_for_bytes", "You return bits. Divide by 8.", {" // 8": ""}),
        hard_coded(state_cases),
        run=lambda optimizer_bytes, case: optimizer_bytes(case.parameters, case.bits),
        cases=state_cases,
    )

    def judge_state_bytes(observation: Observation, seed: int) -> Verdict:
        answer = TABLE.answer(seed, observation.facts["answers"])
        if answer.is_right:
            return Verdict(PASSED, "", f"{len(answer.values)} sizes, to the byte")
        expected = f"{answer.truth} bytes for {answer.case.parameters} parameters"
        measured = f"{answer.value} bytes, {answer.value / answer.truth:.3g} times that"
        return TABLE.explain(
            answer, expected=expected, measured=measured, otherwise="Compute the bytes of one parameter by hand."
        )

Where the evidence is events, gradients or usage, a `Table` holds misconceptions with `shown_by`, a predicate on a
dataclass of that evidence, and `judge` returns the verdict on the first that is shown. Both kinds may be mixed.
Order is priority. `tests/judging/test_proof.py` finds every table and proves it at two seeds: the values of each
misconception differ from the reference's, and are named by its own code.
"""
