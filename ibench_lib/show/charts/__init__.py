"""One function per chart of a post, a file a subject: a frame of one setup (and step) in, a plotly Figure out.

The frames are answers to the questions in `ibench_lib/sql/`, already down-sampled there. Traces are SVG (Scatter, Bar),
never WebGL, of which a browser draws only about a dozen on one page. `layout.meta` carries the title as plain text and
the width (half or full) for the page that shows the chart.
"""
