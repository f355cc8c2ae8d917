package kittest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
)

// poison has the variables that the providers' own libraries read, with values that must not have any effect.
var poison = map[string]string{
	"OPENAI_API_KEY": PoisonKey, "OPENAI_ADMIN_KEY": PoisonKey, "OPENAI_BASE_URL": poisonURL, "OPENAI_API_BASE": poisonURL,
	"OPENAI_ORG_ID": "poison", "OPENAI_ORGANIZATION": "poison", "OPENAI_PROJECT_ID": "poison",
	"OPENAI_WEBHOOK_SECRET": PoisonKey, "OPENAI_CUSTOM_HEADERS": "X-Poison: poison", "OPENAI_API_VERSION": "poison",

	"ANTHROPIC_API_KEY": PoisonKey, "ANTHROPIC_AUTH_TOKEN": PoisonKey, "ANTHROPIC_BASE_URL": poisonURL,
	"ANTHROPIC_CUSTOM_HEADERS": "X-Poison: poison", "ANTHROPIC_MODEL": "poison", "ANTHROPIC_PROFILE": "poison",
	"ANTHROPIC_CONFIG_DIR": "/poison", "ANTHROPIC_IDENTITY_TOKEN": PoisonKey, "ANTHROPIC_IDENTITY_TOKEN_FILE": "/poison",
	"ANTHROPIC_ORGANIZATION_ID": "poison", "ANTHROPIC_WORKSPACE_ID": "poison", "ANTHROPIC_FEDERATION_RULE_ID": "poison",
	"ANTHROPIC_SERVICE_ACCOUNT_ID": "poison", "ANTHROPIC_SCOPE": "poison", "ANTHROPIC_LOG": "debug",
	"ANTHROPIC_VERTEX_PROJECT_ID": "poison", "CLOUD_ML_REGION": "poison",

	"GOOGLE_API_KEY": PoisonKey, "GEMINI_API_KEY": PoisonKey, "GOOGLE_GENAI_USE_VERTEXAI": "true",
	"GOOGLE_GENAI_USE_ENTERPRISE": "true", "GOOGLE_CLOUD_PROJECT": "poison", "GOOGLE_CLOUD_LOCATION": "poison",
	"GOOGLE_CLOUD_REGION": "poison", "GOOGLE_GEMINI_BASE_URL": poisonURL, "GOOGLE_VERTEX_BASE_URL": poisonURL,
	"GOOGLE_APPLICATION_CREDENTIALS": "/poison",

	"AWS_BEARER_TOKEN_BEDROCK": PoisonKey, "AWS_ACCESS_KEY_ID": "POISON", "AWS_SECRET_ACCESS_KEY": PoisonKey,
	"AWS_SESSION_TOKEN": PoisonKey, "AWS_REGION": "poison-1", "AWS_DEFAULT_REGION": "poison-1", "AWS_PROFILE": "poison",
	"AWS_CONFIG_FILE": "/poison", "AWS_SHARED_CREDENTIALS_FILE": "/poison", "AWS_ENDPOINT_URL": poisonURL,
	"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": poisonURL, "AWS_EC2_METADATA_DISABLED": "true",
	"AWS_BEDROCK_BASE_URL": poisonURL,

	"AZURE_OPENAI_API_KEY": PoisonKey, "AZURE_OPENAI_ENDPOINT": poisonURL, "AZURE_OPENAI_AD_TOKEN": PoisonKey,
	"AZURE_OPENAI_API_VERSION": "poison", "AZURE_API_KEY": PoisonKey, "AZURE_TENANT_ID": "poison",
	"AZURE_CLIENT_ID": "poison", "AZURE_CLIENT_SECRET": PoisonKey,

	"DEEPSEEK_API_KEY": PoisonKey, "DASHSCOPE_API_KEY": PoisonKey, "MOONSHOT_API_KEY": PoisonKey, "ARK_API_KEY": PoisonKey,
	"MISTRAL_API_KEY": PoisonKey, "GROQ_API_KEY": PoisonKey, "XAI_API_KEY": PoisonKey, "OPENROUTER_API_KEY": PoisonKey,
	"OLLAMA_HOST": poisonURL, "OLLAMA_API_KEY": PoisonKey,
}

// PoisonKey is the value of the poisoned keys, and poisonURL of addresses: neither may appear in a request.
const (
	PoisonKey = "poison-from-the-environment"
	poisonURL = "http://127.0.0.1:1/poison"
)

// PoisonEnv sets the environment variables that providers' libraries read to wrong values, until the end of the test. A
// model that is configured explicitly must send the same requests as without.
func PoisonEnv(t testing.TB) {
	t.Helper()
	for name, value := range poison {
		t.Setenv(name, value)
	}
}

// NoSecrets fails the test if the secret appears in any of the values, however one prints, logs or marshals them. It
// looks at the errors that an error wraps, too.
func NoSecrets(t testing.TB, secret string, values ...any) {
	t.Helper()
	if secret == "" {
		t.Fatal("no secret to look for")
	}
	for _, value := range values {
		for how, text := range shown(value) {
			if form := found(text, secret); form != "" {
				t.Errorf("%T shows the secret%s in %s", value, form, how)
			}
		}
	}
}

// shown returns a value in all the forms that people see.
func shown(value any) map[string]string {
	texts := map[string]string{}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		texts[verb] = fmt.Sprintf(verb, value)
	}
	data, err := json.Marshal(value)
	texts["JSON"] = fmt.Sprintf("%s %v", data, err)
	for name, handler := range map[string]func(io.Writer) slog.Handler{
		"slog as text": func(w io.Writer) slog.Handler { return slog.NewTextHandler(w, nil) },
		"slog as JSON": func(w io.Writer) slog.Handler { return slog.NewJSONHandler(w, nil) },
	} {
		var b bytes.Buffer
		slog.New(handler(&b)).Info("message", "value", value)
		texts[name] = b.String()
	}
	if err, ok := value.(error); ok {
		for n := 0; err != nil && n < 20; n++ {
			texts[fmt.Sprintf("wrapped error %d", n)] = fmt.Sprintf("%v %+v %#v", err, err, err)
			err = errors.Unwrap(err)
		}
	}
	return texts
}

// found reports in which form a text has the secret.
func found(text, secret string) string {
	quoted, _ := json.Marshal(secret)
	for form, secret := range map[string]string{
		" ":                secret,
		" escaped":         strings.Trim(string(quoted), `"`),
		" quoted":          strings.Trim(strconv.Quote(secret), `"`),
		" for URLs":        url.QueryEscape(secret),
		" in hexadecimals": fmt.Sprintf("%x", secret),
		" in base64":       strings.TrimRight(base64.StdEncoding.EncodeToString([]byte(secret)), "="),
	} {
		if strings.Contains(text, secret) {
			return strings.TrimRight(form, " ")
		}
	}
	return ""
}

// NoLog fails the test if anything is written to the standard loggers, to standard output or standard error from now to
// its end. Tests that use it must not run in parallel to others.
func NoLog(t testing.TB) {
	t.Helper()
	file, err := os.CreateTemp(t.TempDir(), "log")
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr, writer, logger := os.Stdout, os.Stderr, log.Writer(), slog.Default()
	os.Stdout, os.Stderr = file, file
	slog.SetDefault(slog.New(slog.NewTextHandler(file, &slog.HandlerOptions{Level: slog.LevelDebug})))
	log.SetOutput(file) // after SetDefault, which redirects it
	t.Cleanup(func() {
		os.Stdout, os.Stderr = stdout, stderr
		slog.SetDefault(logger)
		log.SetOutput(writer)
		written, err := os.ReadFile(file.Name())
		file.Close()
		if err != nil || len(written) > 0 {
			t.Errorf("something was printed: %s %v", written, err)
		}
	})
}
