"""What is wrong with a series."""
from monitor.core.diagnosis_new.judge import judge
from monitor.core.diagnosis_new.pairs import Pairs
from monitor.core.diagnosis_new.verdict import Remedy, Verdict
from monitor.core.diagnosis_new.whole import judge_file
__all__ = ["Pairs", "Remedy", "Verdict", "judge", "judge_file"]
