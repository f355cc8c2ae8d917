//go:build unix

package local

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConfigEnv_DefaultHasNoSecrets(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-secret")
	t.Setenv("LANG", "C.UTF-8")
	l, _ := newLocal(t)
	output := execute(t, l, "env").Output
	require.NotContains(t, output, "sk-secret")
	require.Contains(t, output, "PATH="+os.Getenv("PATH")+"\n")
	require.Contains(t, output, "LANG=C.UTF-8\n")
	for _, variable := range DefaultEnv() {
		require.Contains(t, output, variable)
	}

	l, _ = newLocal(t, func(c *Config) { c.Env = os.Environ() })
	require.Equal(t, "sk-secret\n", execute(t, l, "echo $OPENAI_API_KEY").Output)
	l, _ = newLocal(t, func(c *Config) { c.Env = append(DefaultEnv(), "OPENAI_API_KEY=other") })
	require.Equal(t, "other\n", execute(t, l, "echo $OPENAI_API_KEY").Output)

	l, _ = newLocal(t, func(c *Config) { c.Env, c.Shell = []string{}, []string{"/usr/bin/env", "-S"} })
	output = execute(t, l, "/usr/bin/env").Output
	require.True(t, strings.HasPrefix(output, markVariable+"="), output)
	require.Equal(t, 1, strings.Count(output, "="), output)
}
