"""What people say after a change was made, or after an answer: words that object to it, and words that do not. Made up, in the manner of people who are in a hurry."""

OBJECTIONS = """
hmm that didn't fix it
the import is wrong
we use tabs here, not spaces
use pnpm, not npm
that file is generated, edit the template instead
this should go in utils.ts
please use the existing helper
I'd rather have this as a separate function
why is there a new dependency?
you changed the wrong file
there's already a function for that
the tests you added are useless
can you not add comments everywhere?
this is overkill, simplify
too complicated
revert that last change
that broke the build
ci is red
still getting the same error
same error
nope
wrong repo
it's spelled 'colour'
we don't want to expose this
we don't need backwards compatibility
don't add a fallback
the endpoint is /v2/users not /v1/users
shouldn't this be async?
isn't this supposed to be sorted?
wait, why is this removed?
looks good but the button is too far left
but the header is still blue
I wanted it inline
you only updated one of the two files
what happened to the footer?
where did the footer go?
remove the emoji
no emojis please
put it back
that's a hack, do it properly
not sure that's right, check the docs
are you sure about that? the docs say otherwise
this isn't what I asked for
as I said, only the client
I already told you to use uv
let's use a map instead
can we use a map instead?
could you use the logger instead of print?
the icon is missing
it crashes when I click save
nothing happens when I click the button
I can't see the new column
now the sidebar is gone
the spacing looks off
it's still showing the old title
that's the wrong branch
you didn't run the linter
this makes no sense
I think you misunderstood, I want the opposite
that's not how we do it here, check CONTRIBUTING
hold on, we should keep the v1 route
please stop adding docstrings
you should use the factory
it must be idempotent
that doesn't match the design
undo that
the name should be userId
the order is wrong, newest first
you keep forgetting the semicolons
the test passes but the app doesn't start
hm, now all rows are blue, only the header was meant to be
The date format has to be ISO
you're using the old API, we're on v3 now
please write it in TypeScript
I want a dropdown, not a text field
the function name doesn't follow our convention
that's unrelated to what I asked
why are we importing lodash here?
can you keep the changes minimal?
why not just use a regex?
this breaks the mobile layout
tests still fail
it fails on windows with a path error
The migration is missing a down step
it's the other way around
you swapped the arguments
that test is testing the mock
we agreed on REST
it needs to be backwards compatible
leave the tests alone
I'd expect it to return an empty list
You need to run it with uv, pip is not available
don't use any
no mocks
only change the css
should've been a warning
Nothing is rendered
Why would we need a class for this?
this duplicates the logic in parser.py
it's not working on staging
looks the same to me
the output is garbage
that's way too long for a commit message
use single quotes
commit messages need the ticket number
the second argument is optional
I see you created a new helper, but we have one in lib/format.ts already, please reuse it
The command output shows it is installing to the global site-packages, I told you to use the venv
this is fine but the variable names are cryptic
the retry logic is in the wrong layer, move it to the client
ok but now the cli prints the banner twice
that's a lot of code for something simple
you can't use async here, the caller is sync
we run this on node 16, so no fetch
I get ModuleNotFoundError: No module named requests
please undo the formatting changes, they make the diff unreadable
Did you even read the file?
You hallucinated that option
there is no such flag
this API doesn't exist
that's what I had before, I want the new layout
it shows 0 for every user
I don't see any change
no no no, keep the original signature
can you please follow the existing style?
hmm the button moved to the left, it was supposed to be on the right
that's not a unit test
I specifically asked for no external dependencies
you removed my comments, restore them
wrong again
remove all the console.logs you added
the PR description is too long
it should only run on push to main
Close, but the padding is off
almost, but the icon should come first
this doesn't compile: cannot find symbol Foo
the regex also matches empty strings
that would delete user data, be careful
don't mock the database
again, tests go into tests/unit
stop. read the docs first
the header overlaps the menu
I still see the spinner
can we make the font a bit smaller? it looks huge
it's slower than before
now login is broken
the date is off by one
you put the import in the middle of the file
indentation is off
this test is flaky now
please restore the original wording
the modal closes when I click inside it
nope, same result
that fixed the first issue but not the second
we lost the sorting
I asked for a table
typo in the title: 'Setings'
it still says v1
only the admin should see this
you forgot to export it
why is package-lock changed?
""".strip().splitlines()

OTHERS = """
now do the same for the server
ok now commit this
lets also add docs
what does this function do?
how do I run it?
is it safe to merge?
should we add tests?
great, can you open a PR?
perfect. next: the login page
run the tests
add error handling for the case where the file is missing
next, the sidebar should be collapsible
we need to support windows too
I pushed the branch
done, what's next?
ok let me test it
let me check
i'll test it later
update the readme
bump the version to 1.2.0
merge it
please explain the change
don't worry about the tests for now
thanks, that works now
no that's all
no thanks
no, that's fine
I don't understand, explain again
I don't know, you decide
what's the difference between a and b?
can you check if this is the right approach?
should be good now, try again
I fixed it, try again
add a test for the case where the user is not logged in
write a script that never overwrites existing files
create a page which should show all the orders
now let's handle the errors: if the token is missing return 401
let's move on to the next task
can you review the code and tell me what is wrong with it?
is there something missing?
do you think the cache should be disabled?
how should we deal with failing requests?
why is the build slow?
what would you do instead?
please implement the second option
option 2
yes, but only for admins
both
the first one
/compact
commit with message "fix: do not crash"
ok do it but don't commit yet
looks good, merge
sounds good, go ahead
how does it compare to the previous approach?
summarize what we did
which files did you change?
what about windows?
does this also work on mac?
can you explain why you did it this way?
test it
here is the log
continue with step 3
start the dev server
let's deploy it
it works, thank you!
nice, now make the same change in the other module
also update the docs accordingly
and now the same for the tests
i restarted the server
ok
hm ok
interesting
cool, how fast is it?
what's left?
please go on with the refactoring
could you also handle the timeout case
let's see
I'd like to add a dark mode
I want a button to export the data as CSV
can we make it configurable?
would it be hard to support postgres?
the next step is to write the integration tests
explain the second one
push it to the feature branch
then do it
I'll review it tomorrow
add logging when the request fails
write tests for when the file doesn't exist
yes please, and don't forget the changelog
please create an issue for the missing feature
is the old endpoint still used anywhere?
do the tests pass?
did you run the linter?
now that this works, clean up the branch
show me the diff
next one
we will need a second page later
the design team sent the new logo
the tests take 3 minutes on my machine
Great work! Now let's tackle the second item on the list
please proceed to phase 2
ok, now I want to add authentication
could you write a short summary of the changes for the changelog
one more thing: add a license header to each file
what's the best way to test this?
I'm going to bed, finish the rest
and what about the performance?
can you double check the edge cases
thanks! can you also fix the typo in the title
run it again
try it with a bigger file
now implement the delete endpoint, it should return 204
add a flag --dry-run that doesn't write anything
the user should be able to log in with github, please implement that
good. push
go with option b
b
let's keep going
sure
yes and also add the tests
looks great
is this the final version?
where is the config stored?
what does the error mean?
how long will it take?
make the same change to the other two services
rebase on main
squash and merge
create a new branch called fix/login and commit there
I'll take a look, thanks
it's working now
fixed, thanks
all tests pass on my side
that works
now wire it up to the api
let's do the same for orders
commit
can you squash these commits?
what's the coverage?
nice! ship it
next: pagination
add a story for the new component
write the docs for it
how do I test this locally?
is that all?
did you update the changelog?
perfect, moving on to the backend
let me try
ok checking
I merged it
let's add a loading state too
please also translate the strings
rename the branch to feature/x
run prettier
thanks!
great, it works on my machine too
create a PR
tag the release
what was the reason for the memo?
""".strip().splitlines()

OBJECTIONS_TO_AN_ANSWER = """
that won't work, the worker has no network access
we can't use redis, it's not available on staging
I don't think that's the cause, the log shows it happens before login
no, the other repo
you're looking at the wrong service
the config is in infra/, not in app/
I was asking about the client, not the server
that's outdated, we moved to v2 last month
you misread the ticket
please read the whole file before you answer
that's not true, postgres supports this
hmm that doesn't explain why it only happens on mondays
skip the tests for now, focus on the parser
forget about windows
this is a library, there is no main
it's a monorepo, run it from packages/core
don't guess, look it up
i never said that
why do you keep suggesting docker?
you already tried that
""".strip().splitlines()

OTHERS_AFTER_AN_ANSWER = """
ok sounds good
what about caching?
how would that work with retries?
go with the first option
can you show me an example?
interesting, and what if the queue is full?
let's start with step 1
do it
why does it take so long?
is there a simpler way?
what do you recommend?
please write the plan to a file
I have no preference
both are fine
the database has about 2 million rows
we use github actions for ci
it's a next.js app
the error appears on the settings page
yes
explain option 2 in more detail
I'd like to see the code first
which one is faster?
let me think about it
could you check the logs?
the deploy is at 5pm
""".strip().splitlines()
