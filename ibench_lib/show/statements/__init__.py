"""One function per subject of a post: answers in, sentences out that say what stands out, and no more than they hold.

A parameter of such a function is named after the question (`ibench_lib/sql/`) whose answer it takes; `base` is the dbms
to compare with. `sections.say` asks those questions and lists the sentences, each with a link to the query behind it.
Nothing is said of a step that did not complete, but that it did not.
"""
