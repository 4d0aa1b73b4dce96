"""Statistics and reports for bias benchmarks of language models in medical question answering.

The names below are imported when they are first used: ``import fairstats`` loads none of the
libraries behind them.
"""

import lazy_loader

from fairstats._lib.installation import __version__ as __version__

# Each public name is imported when it is first used; `__init__.pyi` says from where.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
