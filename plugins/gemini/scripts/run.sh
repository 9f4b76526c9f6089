#!/bin/sh
# Runs the installed `mesh`. Without one a hook says nothing and ends well: a session must not fail for want of memory.
PATH="$PATH:$HOME/.local/bin:/usr/local/bin:/opt/homebrew/bin"
found=$(command -v mesh) || {
    echo "clan-mesh: mesh is not installed; see the README of the plugin" >&2
    [ "$1" = hook ] && exit 0
    exit 1
}
# Who also ran `mesh install` has our hooks already: a session is told once.
if [ "$1" = hook ] && grep -qs "mesh'* hook SessionStart" "${GEMINI_CLI_HOME:-$HOME}/.gemini/settings.json" "${GEMINI_PROJECT_DIR:-.}/.gemini/settings.json"; then
    exit 0
fi
exec "$found" "$@"
