package ollama

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"github.com/weftgo/weft/catalogue"
	"github.com/weftgo/weft/ext/model/kit"
)

// shownModel is the server's description of a model.
type shownModel struct {
	Capabilities []string       `json:"capabilities"`
	ModelInfo    map[string]any `json:"model_info"`
	Parameters   string         `json:"parameters"`
}

// describe asks the server what it knows about the model of the Config.
func (e *engine) describe(ctx context.Context) (info catalogue.ModelInfo, err error) {
	defer e.info.Redactor.Recover(&err)
	body, err := kit.ObjectOf("model", e.conf.Model).Encode()
	if err != nil {
		return info, err
	}
	var shown shownModel
	if err := e.client.Exchange(ctx, kit.Request{Path: "api/show", Body: body}, &shown); err != nil {
		return info, err
	}
	info.ContextWindow = shown.window(e.conf.Options.NumCtx)
	for _, c := range shown.Capabilities {
		info.Capabilities.Reasoning = info.Capabilities.Reasoning || c == "thinking"
		info.Capabilities.Images = info.Capabilities.Images || c == "vision"
	}
	return info, nil
}

// window returns the size of the context: what calls ask for, or what the model's own parameters say, and no more than
// the model can. What the server gives a call if neither sets a size is not known: then it is what the model can.
func (s *shownModel) window(asked int) int {
	family, _ := s.ModelInfo["general.architecture"].(string)
	largest, _ := s.ModelInfo[family+".context_length"].(float64)
	set := cmp.Or(asked, s.parameter("num_ctx"))
	if set > 0 && (set < int(largest) || largest == 0) {
		return set
	}
	return int(largest)
}

// parameter returns a number of the Modelfile, 0 if it does not have it.
func (s *shownModel) parameter(name string) int {
	for line := range strings.Lines(s.Parameters) {
		if fields := strings.Fields(line); len(fields) == 2 && fields[0] == name {
			n, _ := strconv.Atoi(fields[1])
			return n
		}
	}
	return 0
}
