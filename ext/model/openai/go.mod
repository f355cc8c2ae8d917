module github.com/weftgo/weft/ext/model/openai

go 1.26.0

require (
	github.com/eino-contrib/jsonschema v1.0.3
	github.com/openai/openai-go/v3 v3.96.0
	github.com/stretchr/testify v1.12.1
	github.com/weftgo/weft v0.0.0
	go.uber.org/goleak v1.3.0
	go.yaml.in/yaml/v3 v3.0.5
)

replace github.com/weftgo/weft => ../../..
