package kittest

import (
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"strings"
	"testing"
)

// A failing records what a helper reports, instead of the test's own T. Its clean-ups run when the test says so.
type failing struct {
	testing.TB
	reports  []string
	cleanups []func()
}

func (f *failing) Helper()          {}
func (f *failing) Cleanup(c func()) { f.cleanups = append(f.cleanups, c) }

func (f *failing) Errorf(format string, args ...any) {
	f.reports = append(f.reports, fmt.Sprintf(format, args...))
}

func (f *failing) end() (reports string) {
	for _, c := range f.cleanups {
		c()
	}
	return strings.Join(f.reports, "\n")
}

func TestPoisonEnv_LeavesNothingOfTheMachine(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "right")
	PoisonEnv(t)
	for _, name := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "AWS_BEARER_TOKEN_BEDROCK"} {
		if os.Getenv(name) != PoisonKey {
			t.Error(name, os.Getenv(name))
		}
	}
	NoSecrets(t, "right", os.Environ())
}

type hiding struct{ key string }

func (hiding) String() string               { return "hidden" }
func (h hiding) GoString() string           { return "hidden" }
func (h hiding) LogValue() slog.Value       { return slog.StringValue("hidden") }
func (h hiding) Format(s fmt.State, _ rune) { fmt.Fprint(s, "hidden") }

func TestNoSecrets_FindsThem(t *testing.T) {
	const secret = `s/e"c+r<et`
	for name, value := range map[string]any{
		"field":   struct{ Key string }{secret},
		"map":     map[string]string{"key": secret},
		"wrapped": fmt.Errorf("cannot: %w", errors.New("key "+secret)),
		"url":     "https://h/?key=s%2Fe%22c%2Br%3Cet",
		"base64":  "Basic cy9lImMrcjxldA==",
		"private": struct{ key string }{secret},
		"log":     secretLog{secret},
	} {
		f := &failing{TB: t}
		if NoSecrets(f, secret, value); len(f.reports) == 0 {
			t.Errorf("%s: not found", name)
		}
	}
	NoSecrets(t, secret, "nothing", nil, 5, hiding{secret}, errors.New("no"), (*hiding)(nil))
}

// secretLog shows its key in logs only.
type secretLog struct{ key string }

func (s secretLog) LogValue() slog.Value     { return slog.StringValue(s.key) }
func (secretLog) Format(s fmt.State, _ rune) { fmt.Fprint(s, "hidden") }

func TestNoLog_SeesEverythingPrinted(t *testing.T) {
	before, stderr := slog.Default(), os.Stderr
	for name, print := range map[string]func(){
		"log":     func() { log.Print("said") },
		"slog":    func() { slog.Debug("said") },
		"stdout":  func() { fmt.Println("said") },
		"stderr":  func() { fmt.Fprintln(os.Stderr, "said") },
		"nothing": func() {},
	} {
		f := &failing{TB: t}
		NoLog(f)
		print()
		if reports := f.end(); strings.Contains(reports, "said") != (name != "nothing") {
			t.Errorf("%s: %q", name, reports)
		}
	}
	if slog.Default() != before || os.Stderr != stderr {
		t.Error("not restored")
	}
}
