"""What tests of hostile files share with those of posts: a kernel for the notebooks."""

from tests.publish.conftest import kernel as kernel
