"""Failures and what was done then: those that were mended in a way worth knowing, and others. Made up; a step is a line, its output and exit code, or an edit."""

EDIT = ("", "", 0)
Step = tuple[str, str, int]

MENDED: list[list[Step]] = [
    [
        ("git push", "! [rejected] main -> main (fetch first)\nerror: failed to push some refs", 1),
        ("git pull --rebase", "Successfully rebased", 0),
        ("git push", "main -> main", 0),
    ],
    [
        ("npm run dev", "Error: listen EADDRINUSE: address already in use :::3000", 1),
        ("lsof -ti:3000 | xargs kill -9", "", 0),
        ("npm run dev", "ready on 3000", 0),
    ],
    [
        (
            "docker compose up -d",
            "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?",
            1,
        ),
        ("open -a Docker && sleep 20", "", 0),
        ("docker compose up -d", "Started", 0),
    ],
    [
        ("./scripts/deploy.sh", "bash: ./scripts/deploy.sh: Permission denied", 126),
        ("chmod +x scripts/deploy.sh", "", 0),
        ("./scripts/deploy.sh", "deployed", 0),
    ],
    [("pytest tests/", "ModuleNotFoundError: No module named 'app'", 2), ("PYTHONPATH=. pytest tests/", "5 passed", 0)],
    [("python -m pytest", "/usr/bin/python: No module named pytest", 1), ("uv run pytest", "5 passed", 0)],
    [("pytest -q", "zsh: command not found: pytest", 127), (".venv/bin/pytest -q", "5 passed", 0)],
    [("tsc --noEmit", "zsh: command not found: tsc", 127), ("npx tsc --noEmit", "", 0)],
    [("cargo build", "error[E0425]: cannot find value `x` in this scope", 101), EDIT, ("cargo build", "Finished", 0)],
    [
        ("npm run build", "src/a.ts(3,5): error TS2322: Type 'string' is not assignable to type 'number'.", 2),
        EDIT,
        ("npm run build", "done", 0),
    ],
    [
        ("eslint src", "/src/a.js\n  3:1  error  Unexpected console statement  no-console\n1 problem", 1),
        EDIT,
        ("eslint src", "", 0),
    ],
    [
        ("ruff check .", "a.py:1:1: F401 `os` imported but unused\nFound 1 error.", 1),
        ("ruff check . --fix", "Found 1 error (1 fixed, 0 remaining).", 0),
    ],
    [
        (
            "git commit -m 'add x'",
            "husky > commit-msg\nsubject may not be empty [subject-empty]\ntype may not be empty [type-empty]",
            1,
        ),
        ("git commit -m 'feat: add x'", "[main 123] feat: add x", 0),
    ],
    [
        ("kubectl get pods -n prod", "error: You must be logged in to the server (Unauthorized)", 1),
        ("aws eks update-kubeconfig --name prod", "Updated context", 0),
        ("kubectl get pods -n prod", "web-1 Running", 0),
    ],
    [
        ("go test ./...", "# app/db\n./db.go:12:5: undefined: sqlx", 1),
        ("go get github.com/jmoiron/sqlx", "go: added", 0),
        ("go test ./...", "ok", 0),
    ],
    [
        (
            "psql -c 'select 1'",
            'psql: error: connection to server on socket failed: FATAL: database "ada" does not exist',
            2,
        ),
        ("psql -d app -c 'select 1'", "1", 0),
    ],
    [
        ("jq .name file.json | xargs -I{} echo {}", "jq: error: syntax error, unexpected INVALID_CHARACTER", 3),
        ("jq '.name' file.json | xargs -I{} echo {}", "x", 0),
    ],
    [
        ('curl -X POST localhost:8080/api -d {"a":1}', "zsh: no matches found: {a:1}", 1),
        ("curl -X POST localhost:8080/api -d '{\"a\":1}'", "ok", 0),
    ],
    [("bun test", "error: Cannot find module 'zod'", 1), ("bun install", "installed", 0), ("bun test", "3 pass", 0)],
    [
        ("terraform plan", 'Error: Backend initialization required, please run "terraform init"', 1),
        ("terraform init", "Terraform has been successfully initialized!", 0),
        ("terraform plan", "No changes.", 0),
    ],
    [
        (
            "python3 manage.py migrate",
            "django.core.exceptions.ImproperlyConfigured: Set the SECRET_KEY environment variable",
            1,
        ),
        ("SECRET_KEY=x python3 manage.py migrate", "OK", 0),
    ],
    [("make test", "make: *** No rule to make target 'test'.  Stop.", 2), ("make check", "all good", 0)],
    [("timeout 10 ./run.sh", "zsh: command not found: timeout", 127), ("gtimeout 10 ./run.sh", "done", 0)],
    [("sed -i 's/a/b/' x.txt", "sed: 1: \"x.txt\": undefined label 'x.txt'", 1), ("sed -i '' 's/a/b/' x.txt", "", 0)],
    [
        ("pip install psycopg2", "error: pg_config executable not found.", 1),
        ("pip install psycopg2-binary", "Successfully installed", 0),
    ],
    [
        ("npm install", "npm ERR! ERESOLVE unable to resolve dependency tree", 1),
        ("npm install --legacy-peer-deps", "added 300 packages", 0),
    ],
    [
        ("mvn test", "The goal you specified requires a project to execute but there is no POM in this directory", 1),
        ("cd backend && mvn test", "BUILD SUCCESS", 0),
    ],
    [
        (
            "gh pr create --title x",
            "must provide `--title` and `--body` (or `--fill`) when not running interactively",
            1,
        ),
        ("gh pr create --title x --body y", "https://github.com/a/b/pull/1", 0),
    ],
]
# Nothing to learn from.
OTHERS: list[list[Step]] = [
    [("pytest -q", "FAILED tests/test_a.py::test_x - assert 1 == 2\n1 failed", 1), EDIT, ("pytest -q", "5 passed", 0)],
    [
        ("npm test", "FAIL src/a.test.ts\n  ● adds\n    expect(received).toBe(expected)\nExpected: 3\nReceived: 2", 1),
        EDIT,
        ("npm test", "PASS", 0),
    ],
    [
        (
            "cargo test",
            "thread 'a' panicked at 'assertion failed: left == right'\ntest result: FAILED. 1 passed; 1 failed",
            101,
        ),
        EDIT,
        ("cargo test", "test result: ok", 0),
    ],
    [
        (
            "git log --oneline nosuch",
            "fatal: ambiguous argument 'nosuch': unknown revision or path not in the working tree.",
            128,
        ),
        ("git log --oneline main", "abc", 0),
    ],
    [("cat src/foo.ts", "cat: src/foo.ts: No such file or directory", 1), ("cat src/bar.ts", "x", 0)],
    [("curl -s https://x.y/z", "curl: (6) Could not resolve host: x.y", 6), ("curl -s https://x.y/w", "ok", 0)],
    [("gh pr view", 'no pull requests found for branch "x"', 1), ("gh pr create --fill", "url", 0)],
    [("ls *.lock", "zsh: no matches found: *.lock", 1), ("ls", "a b", 0)],
    [("git fetch", "fatal: unable to access 'https://github.com/': Failed to connect", 128), ("git fetch", "", 0)],
    [("go test ./a", "--- FAIL: TestX\n    a_test.go:5: got 1, want 2\nFAIL", 1), ("go test ./b", "ok", 0)],
    [("npx jest a.test.js", "Tests: 1 failed, 2 passed", 1), ("npx jest b.test.js", "Tests: 3 passed", 0)],
    [("grep -c foo a.txt", "0", 1), ("grep -c bar a.txt", "3", 0)],
    [("git diff --exit-code", "diff --git a/x b/x", 1), ("git add x", "", 0)],
    [
        (
            "git merge feature",
            "CONFLICT (content): Merge conflict in a.txt\nAutomatic merge failed; fix conflicts and then commit the result.",
            1,
        ),
        EDIT,
        ("git commit -m merge", "[main 1] merge", 0),
    ],
    [("./app --bogus", "error: unknown flag --bogus\nusage: app", 2), ("./app --help", "usage: app", 0)],
    [("docker rm web", "Error response from daemon: No such container: web", 1), ("docker rm api", "api", 0)],
    [("kill 123", "kill: (123) - No such process", 1), ("kill 124", "", 0)],
    [
        ("rg -n foo src docs 2>/dev/null", "src/a.py:1:foo\nsrc/b.py:2:foo error: bar", 2),
        ("rg -n bar src", "src/a.py:1:bar", 0),
    ],
]
