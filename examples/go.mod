module github.com/weftgo/weft/examples

go 1.26.0

require (
	github.com/creack/pty v1.1.24
	github.com/stretchr/testify v1.12.1
	github.com/weftgo/weft v0.0.0
	github.com/weftgo/weft/ext/embedding/openai v0.0.0
	github.com/weftgo/weft/ext/mcp v0.0.0-00010101000000-000000000000
	github.com/weftgo/weft/ext/model/kit/kittest v0.0.0
	github.com/weftgo/weft/ext/model/openai v0.0.0
	github.com/weftgo/weft/ext/store/sqlite v0.0.0
	github.com/weftgo/weft/ext/vector/sqlite v0.0.0
	go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp v1.47.0
	go.opentelemetry.io/otel/sdk v1.47.0
	go.uber.org/goleak v1.3.0
)

require (
	github.com/cenkalti/backoff/v5 v5.0.3 // indirect
	github.com/cespare/xxhash/v2 v2.3.0 // indirect
	github.com/go-logr/logr v1.4.4 // indirect
	github.com/go-logr/stdr v1.2.2 // indirect
	github.com/google/jsonschema-go v0.4.3 // indirect
	github.com/grpc-ecosystem/grpc-gateway/v2 v2.31.0 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/pgx/v5 v5.12.0 // indirect
	github.com/jackc/puddle/v2 v2.2.3 // indirect
	github.com/mattn/go-isatty v0.0.24 // indirect
	github.com/modelcontextprotocol/go-sdk v1.8.0 // indirect
	github.com/ncruces/go-strftime v1.1.0 // indirect
	github.com/remyoudompheng/bigfft v0.0.0-20230129092748-24d4a6f8daec // indirect
	github.com/segmentio/asm v1.1.3 // indirect
	github.com/segmentio/encoding v0.5.4 // indirect
	github.com/weftgo/weft/ext/vector v0.0.0 // indirect
	github.com/yosida95/uritemplate/v3 v3.0.2 // indirect
	go.opentelemetry.io/auto/sdk v1.2.1 // indirect
	go.opentelemetry.io/otel v1.47.0 // indirect
	go.opentelemetry.io/otel/exporters/otlp/otlptrace v1.47.0 // indirect
	go.opentelemetry.io/otel/log v1.47.0 // indirect
	go.opentelemetry.io/otel/metric v1.47.0 // indirect
	go.opentelemetry.io/otel/trace v1.47.0 // indirect
	go.opentelemetry.io/proto/otlp v1.11.1 // indirect
	golang.org/x/net v0.59.0 // indirect
	golang.org/x/oauth2 v0.36.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/time v0.15.0 // indirect
	google.golang.org/genproto/googleapis/api v0.0.0-20260928230214-8a89bd6388cc // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260928230214-8a89bd6388cc // indirect
	google.golang.org/grpc v1.84.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
	modernc.org/libc v1.79.0 // indirect
	modernc.org/mathutil v1.7.1 // indirect
	modernc.org/memory v1.12.1 // indirect
	modernc.org/sqlite v1.61.1 // indirect
)

require (
	github.com/bahlo/generic-list-go v0.2.0 // indirect
	github.com/bmatcuk/doublestar/v4 v4.10.4 // indirect
	github.com/buger/jsonparser v1.1.1 // indirect
	github.com/bytedance/gopkg v0.1.3 // indirect
	github.com/bytedance/sonic v1.15.5 // indirect
	github.com/bytedance/sonic/loader v0.5.3 // indirect
	github.com/cloudwego/base64x v0.1.6 // indirect
	github.com/dustin/go-humanize v1.1.0 // indirect
	github.com/eino-contrib/jsonschema v1.0.3 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/klauspost/cpuid/v2 v2.2.9 // indirect
	github.com/mailru/easyjson v0.7.7 // indirect
	github.com/twitchyliquid64/golang-asm v0.15.1 // indirect
	github.com/weftgo/weft/ext/model/anthropic v0.0.0
	github.com/weftgo/weft/ext/model/gemini v0.0.0
	github.com/weftgo/weft/ext/model/kit v0.0.0 // indirect
	github.com/weftgo/weft/ext/otel v0.0.0
	github.com/weftgo/weft/ext/store/postgres v0.0.0
	github.com/wk8/go-ordered-map/v2 v2.1.8 // indirect
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/arch v0.0.0-20210923205945-b76863e36670 // indirect
	golang.org/x/sys v0.49.0 // indirect
	golang.org/x/text v0.42.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)

replace (
	github.com/weftgo/weft => ../
	github.com/weftgo/weft/ext/model/openai => ../ext/model/openai
)

replace github.com/weftgo/weft/ext/model/kit => ../ext/model/kit

replace github.com/weftgo/weft/ext/model/anthropic => ../ext/model/anthropic

replace github.com/weftgo/weft/ext/model/gemini => ../ext/model/gemini

replace github.com/weftgo/weft/ext/model/kit/kittest => ../ext/model/kit/kittest

replace github.com/weftgo/weft/ext/embedding/openai => ../ext/embedding/openai

replace github.com/weftgo/weft/ext/vector => ../ext/vector

replace github.com/weftgo/weft/ext/vector/sqlite => ../ext/vector/sqlite

replace github.com/weftgo/weft/ext/store/sqlite => ../ext/store/sqlite

replace github.com/weftgo/weft/ext/store/postgres => ../ext/store/postgres

replace github.com/weftgo/weft/ext/mcp => ../ext/mcp

replace github.com/weftgo/weft/ext/otel => ../ext/otel
