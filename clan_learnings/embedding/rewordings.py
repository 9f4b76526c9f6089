"""Questions, and after each what a record says about it in other words: every line about another matter. Data alone.

What every embedder is measured with (`scale`): a question with its own record for what means the same, with all other records
for what has nothing to do with each other. Another line here is another scale for all of them: see docs/adr/0054.
"""

_LINES = """
how do I take back my last commit => to undo the newest commit and keep its changes, run git reset --soft HEAD~1
the disk of the build machine is full => the build server ran out of space: old images on its disk have to be deleted every week
dates are off by one day for some users => store dates in UTC: users in other time zones saw the day before
how to rename a column without downtime => renaming a database column takes steps while the service runs: add the new one, copy, drop the old
the list jumps while I scroll => scrolling a list of rows with unknown heights makes it hop: give each row a fixed height
our emails end up in the spam folder => mail that we send is taken for spam unless SPF and DKIM are set up
two workers handled the same job => a job was processed twice by different workers: take a lease before starting on it
the type checker knows nothing about this library => mypy cannot check a library without stubs: install its types
how can I see which query is slow => find the slowest SQL query with EXPLAIN ANALYZE
the app crashes when the phone is turned => rotating the device ends the activity: keep its state or the app crashes
the container cannot reach the database => inside a container localhost is not the host: connect to the database by the name of its service
a test passes alone and fails with the others => tests that fail only in the whole suite share state with another test
prices are wrong by a cent => never calculate money with floats: amounts are rounded and lose cents
the certificate of the website has expired => renew TLS certificates automatically, before they expire
memory grows until the process is killed => the process has a memory leak: listeners are never removed, and it is killed in the end
the linter and the formatter disagree => turn off the linter's rules about style: the formatter takes care of that
who may approve a release => a release to production has to be approved by the owner of the service
the keyboard cannot reach the buttons of the dialog => buttons in a modal dialog must be reachable with the keyboard, for accessibility
search finds nothing for plural words => the search index has no stemming: singular and plural are different words to it
the API answers 429 too many requests => we send too many requests to the API and are rate limited: back off and try again later
the readings of the sensor have gaps => measurements are lost while the sensor sleeps: buffer them and send them afterwards
the model predicts the same class for everything => the classifier always picks one label since the training data is unbalanced
the printed label is cut off on the right => the printer clips the right edge of a label: set the width of its paper
the sound lags behind the video => audio and video drift apart: resample the audio to the clock of the stream
the same customer is in the table twice => duplicates of customers: there was no unique key on their address
can I retry a payment safely => payments may be repeated without charging twice if you send an idempotency key
the robot stops when the wireless network drops => losing wifi halts the robot: let it drive on to a safe place by itself
map markers appear in the ocean => points on the map are misplaced if latitude and longitude are swapped
the game stutters every few seconds => frame drops in the game come from garbage collection: reuse objects
nobody can read the log of the night job => output of the nightly task goes to a file only root may open: change its permissions
how much does the cluster cost a month => the monthly bill for our Kubernetes nodes is about four thousand dollars
the translator shows keys instead of words => untranslated strings show up as their keys: add them to the language files
"""

PAIRS = tuple(
    (question, record) for question, _, record in (line.partition(" => ") for line in _LINES.strip().split("\n"))
)
