package kit

import (
	"net/http"
	"strconv"
	"strings"
)

// statusOfWord has the HTTP status that a provider's word for an error stands for, where errors come inside responses
// of success: Anthropic's and OpenAI's types, OpenAI's codes, Google's status words.
// https://docs.claude.com/en/api/errors, https://cloud.google.com/apis/design/errors
var statusOfWord = map[string]int{
	"invalid_request_error": http.StatusBadRequest,
	"authentication_error":  http.StatusUnauthorized,
	"billing_error":         http.StatusPaymentRequired,
	"permission_error":      http.StatusForbidden,
	"not_found_error":       http.StatusNotFound,
	"request_too_large":     http.StatusRequestEntityTooLarge,
	"rate_limit_error":      http.StatusTooManyRequests,
	"timeout_error":         http.StatusGatewayTimeout,
	"api_error":             http.StatusInternalServerError,
	"overloaded_error":      statusOverloaded,

	"server_error":            http.StatusInternalServerError,
	"internal_server_error":   http.StatusInternalServerError,
	"internal_error":          http.StatusInternalServerError,
	"rate_limit_exceeded":     http.StatusTooManyRequests,
	"insufficient_quota":      http.StatusTooManyRequests,
	"context_length_exceeded": http.StatusBadRequest,
	"invalid_api_key":         http.StatusUnauthorized,
	"model_not_found":         http.StatusNotFound,
	"service_unavailable":     http.StatusServiceUnavailable,
	"invalid_prompt":          http.StatusBadRequest,
	"vector_store_timeout":    http.StatusGatewayTimeout,

	"INVALID_ARGUMENT":    http.StatusBadRequest,
	"FAILED_PRECONDITION": http.StatusBadRequest,
	"OUT_OF_RANGE":        http.StatusBadRequest,
	"UNAUTHENTICATED":     http.StatusUnauthorized,
	"PERMISSION_DENIED":   http.StatusForbidden,
	"NOT_FOUND":           http.StatusNotFound,
	"RESOURCE_EXHAUSTED":  http.StatusTooManyRequests,
	"CANCELLED":           statusCancelled,
	"INTERNAL":            http.StatusInternalServerError,
	"UNKNOWN":             http.StatusInternalServerError,
	"UNAVAILABLE":         http.StatusServiceUnavailable,
	"DEADLINE_EXCEEDED":   http.StatusGatewayTimeout,

	// AWS names exceptions; event streams carry them.
	"throttlingException":         http.StatusTooManyRequests,
	"modelStreamErrorException":   http.StatusInternalServerError,
	"internalServerException":     http.StatusInternalServerError,
	"serviceUnavailableException": http.StatusServiceUnavailable,
	"modelTimeoutException":       http.StatusRequestTimeout,
	"validationException":         http.StatusBadRequest,
}

const (
	statusCancelled  = 499
	statusOverloaded = 529
)

// statusOf returns the status that the code or the type of an error stand for, or 0.
func statusOf(e *APIError) int {
	if status, err := strconv.Atoi(e.Code); err == nil && status >= 400 && status < 600 {
		return status
	}
	if status, ok := statusOfWord[e.Code]; ok {
		return status
	}
	return statusOfWord[e.Type]
}

// kindOfCode has the kinds that codes and types say themselves, whatever the status: services answer with 400 where the
// code says more.
var kindOfCode = map[string]Kind{
	"context_length_exceeded":        ErrContextLength,
	"context_window_exceeded":        ErrContextLength,
	"model_context_window_exceeded":  ErrContextLength,
	"exceed_context_size_error":      ErrContextLength, // llama.cpp
	"string_above_max_length":        ErrTooLarge,
	"request_too_large":              ErrTooLarge,
	"insufficient_quota":             ErrQuota,
	"billing_error":                  ErrQuota,
	"billing_hard_limit_reached":     ErrQuota,
	"content_filter":                 ErrContentFilter,
	"ResponsibleAIPolicyViolation":   ErrContentFilter,
	"content_policy_violation":       ErrContentFilter,
	"data_inspection_failed":         ErrContentFilter, // DashScope
	"image_content_policy_violation": ErrContentFilter,
	"invalid_api_key":                ErrAuth,
	"authentication_error":           ErrAuth,
	"permission_error":               ErrPermission,
	"overloaded_error":               ErrOverloaded,
	"timeout_error":                  ErrTimeout,
	"model_not_found":                ErrNotFound,
	"rate_limit_exceeded":            ErrRateLimited,
	"tool_use_failed":                ErrMalformed, // Groq, as are the next two
	"json_validate_failed":           ErrMalformed,
	"output_parse_failed":            ErrMalformed,
	"CANCELLED":                      ErrCanceled,
}

// contextPhrases are the ways in which servers say that a conversation is too long, in lower case. All words of one
// entry must occur.
var contextPhrases = [][]string{
	{"maximum context length"},                     // OpenAI, vLLM, SGLang, DeepSeek
	{"prompt is too long"},                         // Anthropic
	{"input is too long"},                          // Bedrock
	{"exceed context limit"},                       // Anthropic: input length and max_tokens
	{"input token count", "exceeds"},               // Gemini
	{"exceeds the available context size"},         // llama.cpp
	{"exceeds the context window"},                 // OpenAI Responses
	{"context window", "exceed"},                   // Vercel and others
	{"context length", "exceed"},                   // ionet and others
	{"range of input length should be"},            // Alibaba
	{"input length", "exceeds", "context"},         // Ollama
	{"longer than the model's context length"},     // vLLM
	{"maximum prompt length"},                      // xAI
	{"too many tokens", "context"},                 //
	{"reduce the length of the messages"},          // Groq
	{"prompt contains", "tokens", "too large for"}, // Mistral
	{"exceeded model token limit"},                 // Moonshot
}

// kindOf classifies an error whose other fields are set.
func kindOf(e *APIError) Kind {
	for _, word := range [...]string{e.Code, e.Type} {
		if kind, ok := kindOfCode[word]; ok {
			return kind
		}
	}
	text := strings.ToLower(e.Message)
	if e.StatusCode < http.StatusInternalServerError && containsAny(text, contextPhrases) {
		return ErrContextLength
	}
	switch status := e.StatusCode; {
	case status == http.StatusUnauthorized:
		return ErrAuth
	case status == http.StatusPaymentRequired:
		return ErrQuota
	case status == http.StatusForbidden:
		return ErrPermission
	case status == http.StatusNotFound:
		return ErrNotFound
	case status == http.StatusRequestTimeout, status == http.StatusGatewayTimeout:
		return ErrTimeout
	case status == http.StatusRequestEntityTooLarge:
		return ErrTooLarge
	case status == http.StatusTooManyRequests:
		return limitKind(text, e.Raw)
	case status == statusCancelled:
		return ErrCanceled
	case status == http.StatusServiceUnavailable, status == statusOverloaded:
		return ErrOverloaded
	case status >= http.StatusInternalServerError:
		return ErrServer
	case status == http.StatusBadRequest && strings.Contains(text, "api key not valid"): // Gemini
		return ErrAuth
	case status >= http.StatusBadRequest:
		return ErrInvalid
	}
	return ErrUnknown
}

// limitKind tells a limit that passes soon from one that does not.
func limitKind(text, raw string) Kind {
	switch {
	case strings.Contains(raw, "PerDay"), strings.Contains(text, "exceeded your current quota") &&
		!strings.Contains(raw, "RetryInfo") && !strings.Contains(raw, "PerMinute"):
		return ErrQuota
	}
	return ErrRateLimited
}

func containsAny(text string, phrases [][]string) bool {
	for _, words := range phrases {
		all := true
		for _, w := range words {
			all = all && strings.Contains(text, w)
		}
		if all {
			return true
		}
	}
	return false
}
