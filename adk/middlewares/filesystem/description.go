package filesystem

// What the model reads about the tools, in English.
const (
	// ListFilesToolDesc describes ls.
	ListFilesToolDesc = `Lists what lies directly in a directory: files and directories, one name a line, sorted.

- path must be an absolute path, not a relative one.
- Use it to learn what is there before you read or edit: do not guess the names of files.
- Directories are not descended into. To find files further down, use glob.`

	// ReadFileToolDesc describes read_file.
	ReadFileToolDesc = `Reads a file.

- file_path must be an absolute path, not a relative one.
- Without offset and limit the first 2000 lines are returned. Page through larger files with offset and limit instead of asking for everything.
- The result has the format of cat -n: the number of the line, a tab, the text. Numbers start with 1. They are not part of the file.
- Several files that may matter can be read at once, with several calls in one answer.
- Read a file before you edit it.
- A path that a user mentions may be wrong: a file that does not exist is an error, which you can correct with ls or glob.`

	// EnhancedReadFileDescSuffix is added to the description of a read_file that shows images and PDFs.
	EnhancedReadFileDescSuffix = `
- This tool is multimodal. Images such as PNG and JPEG are shown to you as images.
- PDFs (.pdf) are shown to you with their text and figures. For a PDF of more than 10 pages you must give pages, such as "1-5"; at most 20 pages can be read in one call.`

	// WriteFileToolDesc describes write_file.
	WriteFileToolDesc = `Writes a file.

- file_path must be an absolute path. A file that is there already is overwritten with content, entirely.
- Before you overwrite an existing file, read it with read_file, so that nothing is lost that should stay.
- Prefer to change existing files with edit_file. Write new ones only where the task needs them.
- Do not write documentation (README files, *.md) unless the user asks for it.
- No emojis in files, unless the user asks for them.`

	// EditFileToolDesc describes edit_file.
	EditFileToolDesc = `Replaces text in a file. The text must match exactly.

- Read the file with read_file first: old_string must be what is there now, character by character.
- In what read_file returns, the file's text starts behind the tab that follows the number of the line. Keep the indentation (tabs and spaces) as it stands there, and leave the numbers out of old_string and new_string.
- old_string must occur exactly once in the file, or the edit fails. Take in more of the lines around it until it is unique, or set replace_all to change every occurrence.
- replace_all is the way to rename something throughout a file.
- Prefer editing a file over writing it anew. No emojis, unless the user asks for them.`

	// GlobToolDesc describes glob.
	GlobToolDesc = `Finds files by their names, in trees of any size.

- * and ? stand for characters within one part of a path, ** for any number of directories, [a-z] for one character of a set, {a,b} for either.
- Examples: *.md finds files directly in the directory, **/*.go those at any depth, src/**/*.{ts,tsx} those below src, /docs/*.txt those at an absolute path.
- The paths come one a line, sorted. Directories are left out.
- To search in the content of files, use grep.`

	// GrepToolDesc describes grep.
	GrepToolDesc = `Searches the content of files with a regular expression.

- Use this tool for every search in files. Do not run grep or rg in a shell.
- pattern is a full regular expression, such as "log.*Error" or "func\s+\w+". To search for braces as they are, escape them: interface\{\} finds interface{}.
- Narrow the search with glob (such as *.js or **/*.tsx) or type (such as go, py, rust).
- output_mode "files_with_matches" (the default) gives the paths of files, "content" the matching lines, "count" the number of matches in each file.
- A match lies within one line, unless multiline is true: then struct \{[\s\S]*?field finds what goes over several lines.
- head_limit and offset show a part of a long result.`

	// ExecuteToolDesc describes execute.
	ExecuteToolDesc = `Executes a command in a shell.

Before the command:
- If it creates files or directories, verify with ls that the directory they go to exists and is the right one.
- Quote paths that contain spaces: cd "/home/user/My Files", python "/path/with spaces/script.py".

The command:
- The result is the combined output (stdout and stderr) and, if the command failed, the exit code. Very long output may be truncated.
- Use the file tools where they can do it: glob instead of find, grep instead of grep or rg, read_file instead of cat, head or tail, ls instead of ls, edit_file instead of sed.
- For several commands that depend on each other use && in one call; use ; only if later ones should run even when earlier ones fail. Do not separate commands by newlines, except within quoted text.
- Keep the working directory: use absolute paths rather than cd.

Good:
- pytest /project/tests
- make -C /project build && make -C /project test

Bad:
- cd /project/tests && pytest (use an absolute path)
- cat /project/main.go (use read_file)
- find / -name "*.py" (use glob)
- grep -r TODO /project (use the tool grep)`
)
