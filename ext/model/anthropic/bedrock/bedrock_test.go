package bedrock

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/stretchr/testify/require"

	"github.com/weftgo/weft/ext/model/anthropic"
	"github.com/weftgo/weft/ext/model/kit"
	"github.com/weftgo/weft/ext/model/kit/kittest"
	"github.com/weftgo/weft/schema"
)

const (
	accessKey = "AKIDEXAMPLE12345"
	secretKey = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
)

var question = []*schema.Message{schema.UserMessage("Grüße")}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func respond(req *http.Request, status int, contentType string, body []byte) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {contentType}},
		Body: io.NopCloser(bytes.NewReader(body)), Request: req, ContentLength: -1}
}

const okAnswer = `{"type":"message","id":"m","model":"c","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn"}`

func newModel(t *testing.T, transport http.RoundTripper, conf Config, change ...func(*anthropic.Config)) *anthropic.ChatModel {
	t.Helper()
	if conf.Region == "" {
		conf.Region = "eu-west-1"
	}
	if conf.Credentials == nil && conf.BearerToken == "" {
		conf.AccessKey, conf.SecretAccessKey = accessKey, secretKey
	}
	backend, err := New(conf)
	require.NoError(t, err)
	of := &anthropic.Config{
		Backend: backend, Model: "eu.anthropic.claude-sonnet-4-5-20250929-v1:0", MaxTokens: 100, MaxRetries: new(1),
		HTTPClient: &http.Client{Transport: transport},
	}
	for _, c := range change {
		c(of)
	}
	m, err := anthropic.NewChatModel(context.Background(), of)
	require.NoError(t, err)
	return m
}

// Holds providers/A36.
func TestRequest_HasTheModelInThePathAndBetasInTheBody(t *testing.T) {
	var sent *http.Request
	var body []byte
	m := newModel(t, roundTrip(func(req *http.Request) (*http.Response, error) {
		sent = req
		body, _ = io.ReadAll(req.Body)
		require.Empty(t, kittest.Anthropic().Validate(req, body))
		return respond(req, 200, "application/json", []byte(okAnswer)), nil
	}), Config{}, func(c *anthropic.Config) { c.Betas = []string{"b-1"} })
	got, err := m.Generate(t.Context(), question)
	require.NoError(t, err)
	require.Equal(t, "https://bedrock-runtime.eu-west-1.amazonaws.com/model/eu.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke", sent.URL.String())
	require.Equal(t, "application/json", sent.Header.Get("Accept"))
	require.Empty(t, sent.Header.Get("Anthropic-Version")+sent.Header.Get("Anthropic-Beta")+sent.Header.Get("X-Api-Key"))
	require.Contains(t, string(body), `"anthropic_version":"bedrock-2023-05-31","anthropic_beta":["b-1"]}`)
	require.NotContains(t, string(body), `"model"`)
	require.Equal(t, "anthropic/bedrock-runtime.eu-west-1.amazonaws.com/aws.bedrock", got.Extra["origin"])
	require.Equal(t, "aws.bedrock", m.Provider())
	_, err = m.CountTokens(t.Context(), question)
	require.ErrorIs(t, err, errors.ErrUnsupported)
	backend, err := New(Config{Region: "cn-north-1", BearerToken: "token"})
	require.NoError(t, err)
	require.Equal(t, "https://bedrock-runtime.cn-north-1.amazonaws.com.cn", backend.BaseURL())
}

// Every attempt is signed, with the keys and the time of the attempt, and as AWS checks it.
func TestRequest_IsSignedForEveryAttempt(t *testing.T) {
	n := 0
	keys := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: accessKey, SecretAccessKey: secretKey, SessionToken: "session-token-1"}, nil
	})
	m := newModel(t, roundTrip(func(req *http.Request) (*http.Response, error) {
		body, _ := io.ReadAll(req.Body)
		require.NotEmpty(t, body)
		requireSigned(t, req, body)
		if n++; n == 1 {
			resp := respond(req, 503, "application/json", []byte(`{"message":"busy"}`))
			resp.Header.Set("Retry-After-Ms", "1")
			return resp, nil
		}
		return respond(req, 200, "application/json", []byte(okAnswer)), nil
	}), Config{Credentials: keys})
	_, err := m.Generate(t.Context(), question)
	require.NoError(t, err)
	require.Equal(t, 2, n)
}

// requireSigned signs what came once more, as the service does.
func requireSigned(t *testing.T, req *http.Request, body []byte) {
	t.Helper()
	at, err := time.Parse("20060102T150405Z", req.Header.Get("X-Amz-Date"))
	require.NoError(t, err)
	require.Equal(t, "session-token-1", req.Header.Get("X-Amz-Security-Token"))
	again, err := http.NewRequest(req.Method, req.URL.String(), bytes.NewReader(body))
	require.NoError(t, err)
	for name, values := range req.Header {
		if name != "Authorization" && !strings.HasPrefix(name, "X-Amz") {
			again.Header[name] = values
		}
	}
	hash, err := bodyHash(again)
	require.NoError(t, err)
	keys := aws.Credentials{AccessKeyID: accessKey, SecretAccessKey: secretKey, SessionToken: "session-token-1"}
	require.NoError(t, v4.NewSigner().SignHTTP(t.Context(), keys, again, hash, "bedrock", "eu-west-1", at))
	require.Equal(t, again.Header.Get("Authorization"), req.Header.Get("Authorization"))
	require.Contains(t, req.Header.Get("Authorization"), "Credential="+accessKey+"/")
}

// Holds providers/K7: a key of the configuration is sent, whatever the environment has.
func TestRequest_BearerToken(t *testing.T) {
	t.Setenv("AWS_BEARER_TOKEN_BEDROCK", "poison")
	t.Setenv("AWS_ACCESS_KEY_ID", "poison")
	t.Setenv("AWS_REGION", "poison")
	for want, conf := range map[string]Config{"Bearer token-1": {BearerToken: "token-1"}, "AWS4-HMAC-SHA256": {}} {
		m := newModel(t, roundTrip(func(req *http.Request) (*http.Response, error) {
			require.True(t, strings.HasPrefix(req.Header.Get("Authorization"), want))
			require.NotContains(t, fmt.Sprint(req.Header, req.URL), "poison")
			return respond(req, 200, "application/json", []byte(okAnswer)), nil
		}), conf)
		_, err := m.Generate(t.Context(), question)
		require.NoError(t, err)
	}
}

// Holds providers/A37 and providers/A20.
func TestOmits_AreLeftOutOrRefused(t *testing.T) {
	var body []byte
	transport := roundTrip(func(req *http.Request) (*http.Response, error) {
		body, _ = io.ReadAll(req.Body)
		return respond(req, 200, "application/json", []byte(okAnswer)), nil
	})
	eager := &schema.ToolInfo{Name: "a", Extra: map[string]any{anthropic.ExtraFieldsKey: map[string]any{"eager_input_streaming": true, "strict": true}}}
	m := newModel(t, transport, Config{}, func(c *anthropic.Config) { c.AutoCache = anthropic.AutoCacheServer })
	with, err := m.WithTools([]*schema.ToolInfo{eager})
	require.NoError(t, err)
	_, err = with.Generate(t.Context(), question)
	require.NoError(t, err)
	require.NotContains(t, string(body), "eager_input_streaming")
	require.Contains(t, string(body), `"strict":true,"cache_control":{"type":"ephemeral"}`)
	require.NotContains(t, string(body), `],"cache_control"`)
	_, err = m.Generate(t.Context(), question, anthropic.WithServiceTier("auto"))
	require.ErrorIs(t, err, kit.ErrInvalid)
	_, err = newModel(t, transport, Config{Omits: []string{}}).Generate(t.Context(), question, anthropic.WithServiceTier("auto"))
	require.NoError(t, err)
	require.Contains(t, string(body), `"service_tier":"auto"`)
}

// Holds providers/K1 and providers/A36.
func TestConfig_AllFaultsInOneError(t *testing.T) {
	for want, conf := range map[string]Config{
		"Region is required":       {AccessKey: "a", SecretAccessKey: "b"},
		"credentials are required": {Region: "r"},
		"set only one of":          {Region: "r", BearerToken: "x", AccessKey: "a", SecretAccessKey: "b"},
		"belong together":          {Region: "r", AccessKey: "a"},
		"SessionToken needs":       {Region: "r", SessionToken: "x"},
		"BaseURL must be a URL":    {Region: "r", BearerToken: "x", BaseURL: "x"},
	} {
		_, err := New(conf)
		require.ErrorContains(t, err, "bedrock: config: ")
		require.ErrorContains(t, err, want)
	}
	conf := Config{Region: "r", AccessKey: "AKIDEXAMPLE", SecretAccessKey: secretKey, SessionToken: secretKey}
	backend, err := New(conf)
	require.NoError(t, err)
	var logged strings.Builder
	log := slog.New(slog.NewTextHandler(&logged, nil))
	for _, v := range []any{conf, &conf, backend, *backend, []any{backend}} {
		for _, format := range []string{"%v", "%+v", "%#v", "%s", "%d"} {
			require.NotContains(t, fmt.Sprintf(format, v), secretKey[:8])
		}
		log.Info("it", "v", v)
	}
	require.NotContains(t, logged.String(), secretKey[:8])
}

// Holds providers/K5.
func TestSecrets_AreInNoError(t *testing.T) {
	m := newModel(t, roundTrip(func(req *http.Request) (*http.Response, error) {
		return respond(req, 403, "application/json", []byte(`{"message":"bad `+secretKey+" "+req.Header.Get("Authorization")+`"}`)), nil
	}), Config{})
	_, err := m.Generate(t.Context(), question)
	require.ErrorIs(t, err, kit.ErrPermission)
	require.NotContains(t, err.Error(), secretKey)
	require.NotContains(t, err.Error(), "Signature=")
	failing := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return aws.Credentials{}, errors.New("no role") })
	_, err = newModel(t, nil, Config{Credentials: failing}).Generate(t.Context(), question)
	require.ErrorContains(t, err, "no role")
}

// frames returns a stream, and an exception at its end if there is one.
func frames(stream kittest.Stream, events int, exception string) []byte {
	var body []byte
	for _, e := range stream.Events[:events] {
		body = append(body, stream.Encode(e)...)
	}
	if exception != "" {
		body = append(body, encode(map[string]string{":message-type": "exception", ":exception-type": exception},
			`{"message":"it was too much"}`)...)
	}
	return body
}

// encode writes a frame.
func encode(headers map[string]string, payload string) []byte {
	var h []byte
	for name, value := range headers {
		h = append(append(append(h, byte(len(name))), name...), stringHeader)
		h = append(binary.BigEndian.AppendUint16(h, uint16(len(value))), value...)
	}
	h = append(h, 1, 'x', 4, 0, 0, 0, 7, 1, 'y', 0, 1, 'z', 9) // an integer, a true, a UUID
	h = append(h, make([]byte, 16)...)
	f := binary.BigEndian.AppendUint32(nil, uint32(preludeLength+len(h)+len(payload)+checksumLength))
	f = binary.BigEndian.AppendUint32(f, uint32(len(h)))
	f = binary.BigEndian.AppendUint32(f, crc32.ChecksumIEEE(f))
	f = append(append(f, h...), payload...)
	return binary.BigEndian.AppendUint32(f, crc32.ChecksumIEEE(f))
}

func readStream(t *testing.T, body io.Reader) (string, error) {
	t.Helper()
	m := newModel(t, roundTrip(func(req *http.Request) (*http.Response, error) {
		require.True(t, strings.HasSuffix(req.URL.Path, "/invoke-with-response-stream"))
		resp := respond(req, 200, "application/vnd.amazon.eventstream", nil)
		resp.Body = io.NopCloser(body)
		return resp, nil
	}), Config{})
	sr, err := m.Stream(t.Context(), question)
	require.NoError(t, err)
	defer sr.Close()
	text := ""
	for chunk, err := range sr.All() {
		if err != nil {
			return text, err
		}
		text += chunk.Content
	}
	return text, nil
}

// Holds providers/A36, providers/K18 and providers/K20.
func TestStream_OfFrames(t *testing.T) {
	good := kittest.BedrockStream("Grüße ", "an\n", "日本")
	all := frames(good, len(good.Events), "")
	for name, body := range map[string]io.Reader{
		"whole": bytes.NewReader(all), "bytes": iotest.OneByteReader(bytes.NewReader(all)), "halves": iotest.HalfReader(bytes.NewReader(all)),
		"other messages": bytes.NewReader(append(encode(map[string]string{":message-type": "new"}, "?"), all...)),
	} {
		text, err := readStream(t, body)
		require.NoError(t, err, name)
		require.Equal(t, "Grüße an\n日本", text)
	}
	for n := range good.Events {
		_, err := readStream(t, bytes.NewReader(frames(good, n, "")))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, n)
	}
	for n := range len(all) - 1 {
		_, err := readStream(t, bytes.NewReader(all[:n]))
		require.ErrorIs(t, err, io.ErrUnexpectedEOF, n)
	}
	for exception, want := range map[string]kit.Kind{
		"throttlingException": kit.ErrRateLimited, "modelStreamErrorException": kit.ErrServer, "internalServerException": kit.ErrServer,
		"serviceUnavailableException": kit.ErrOverloaded, "validationException": kit.ErrInvalid,
	} {
		text, err := readStream(t, bytes.NewReader(frames(good, 3, exception)))
		require.Equal(t, "Grüße ", text)
		require.ErrorIs(t, err, want)
		var api *kit.APIError
		require.ErrorAs(t, err, &api)
		require.Equal(t, exception, api.Type)
		require.Equal(t, "it was too much", api.Message)
	}
	failed := encode(map[string]string{":message-type": "error", ":error-code": "internalServerException", ":error-message": "down"}, "")
	_, err := readStream(t, bytes.NewReader(failed))
	require.ErrorIs(t, err, kit.ErrServer)
}

// A byte that is wrong anywhere is found.
func TestStream_DamagedFrames(t *testing.T) {
	good := kittest.BedrockStream("a")
	all := frames(good, len(good.Events), "")
	first := len(good.Encode(good.Events[0]))
	for i := range first {
		damaged := bytes.Clone(all)
		damaged[i] ^= 0x55
		_, err := readStream(t, bytes.NewReader(damaged))
		require.ErrorIs(t, err, errFrame, i)
	}
	for want, frame := range map[string][]byte{
		"lengths": {0, 0, 0, 15, 0, 0, 0, 0}, "bytes": {0xff, 0, 0, 0, 0, 0, 0, 0},
	} {
		frame = binary.BigEndian.AppendUint32(frame, crc32.ChecksumIEEE(frame))
		_, err := readStream(t, bytes.NewReader(frame))
		require.ErrorContains(t, err, want)
	}
	_, err := readStream(t, bytes.NewReader(encode(map[string]string{":message-type": "event"}, "no JSON")))
	require.ErrorIs(t, err, errFrame)
}

// Whatever comes, reading it ends, and takes no more memory than came.
func FuzzFrames(f *testing.F) {
	good := kittest.BedrockStream("a", "b")
	f.Add(frames(good, len(good.Events), "throttlingException"))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		out, err := io.ReadAll(&events{from: bytes.NewReader(data)})
		if err == nil && len(out) > 2*len(data)+100 {
			t.Fatal(len(out))
		}
	})
}
