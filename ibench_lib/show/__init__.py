"""What a page says, with a folder for each subject. All of them share `kit/`.

`tables.py` of a subject has one function per table: a frame of one setup (and step) in, a `Grid` out. A
step that did not complete shows its status in the place of a number.

`charts.py` has one function per chart: such a frame in, a plotly Figure out, and for pages the `Drawing` that the
figure is made of (`kit.drawing.drawn`): plotly takes long to import and to make figures. Traces are SVG (Scatter, Bar),
never WebGL, of which a browser draws only about a dozen on one page. `layout.meta` carries the title as plain text and
the width (half or full) for the page that shows the chart.

`sentences.py` has functions of answers: they return the sentences that say what stands out, and no more than the
answers hold. A parameter of such a function is named after the question whose answer it takes; `base` is the dbms to
compare with. `kit.display.say` asks those questions and lists the sentences, each with a link to the query behind it.
Nothing is said of a step that did not complete, but that it did not.

The frames are answers to the questions in `ibench_lib/sql/`, which have fewer points already where a chart needs few.
"""
