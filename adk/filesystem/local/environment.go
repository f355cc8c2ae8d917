package local

import (
	"os"
	"runtime"
	"slices"
	"strings"
)

// harmless are the variables that programs need to find their files and to know the user's language.
var harmless = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TZ", "LANG", "LANGUAGE",
	"LC_ALL", "LC_COLLATE", "LC_CTYPE", "LC_MESSAGES", "LC_MONETARY", "LC_NUMERIC", "LC_TIME",
}

// harmlessOnWindows are the variables without which programs do not start on Windows.
var harmlessOnWindows = []string{
	"PATH", "PATHEXT", "COMSPEC", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "OS", "TEMP", "TMP", "USERNAME", "USERPROFILE",
	"HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)",
	"PROCESSOR_ARCHITECTURE", "NUMBER_OF_PROCESSORS",
}

// DefaultEnv returns what commands get of the environment of this process when Config.Env is nil: PATH, HOME, USER,
// LOGNAME, SHELL, TERM, TMPDIR, TZ, LANG, LANGUAGE and LC_*, and on Windows what programs need there.
func DefaultEnv() []string {
	names := harmless
	if runtime.GOOS == "windows" {
		names = harmlessOnWindows
	}
	env := []string{}
	for _, variable := range os.Environ() {
		name, _, _ := strings.Cut(variable, "=")
		if runtime.GOOS == "windows" {
			name = strings.ToUpper(name)
		}
		if slices.Contains(names, name) {
			env = append(env, variable)
		}
	}
	return env
}
