package protocol

// DecodeInput reads an agent input that nobody has checked yet; the error is an
// *InputError.
func DecodeInput(raw []byte) (Input, error) {
	r := &reading{}
	var in Input
	if value := r.begin(raw); value != nil {
		in = anInput(r, value)
	}
	if len(r.faults) > 0 {
		return Input{}, &InputError{Faults: r.faults}
	}
	return in, nil
}

// anInput reads a string or an array of items.
func anInput(r *reading, raw []byte) Input {
	switch raw[0] {
	case '"':
		return TextInput(Unquote(raw))
	case '[':
		return Input{Items: someItems(r, raw)}
	}
	r.wrong("a string or an array", raw)
	return Input{}
}

var (
	anInputType  = oneOf(InputText, InputImage, InputFile)
	someItems    = listOf(anItem)
	someElements = listOf(anElement)
	someNaturals = listOf(aNatural)
)

// anItem reads one item of an input.
func anItem(r *reading, raw []byte) InputItem {
	o, ok := r.open(raw)
	if !ok {
		return InputItem{}
	}
	item := InputItem{Type: need(&o, "type", anInputType), ID: maybe(&o, "id", aString)}
	switch item.Type {
	case InputText:
		item.Text = need(&o, "text", aFilled[string])
		item.Elements = orZero(&o, "elements", someElements)
	case InputFile:
		item.Filename = maybe(&o, "filename", aString)
		readSource(&o, &item)
	case InputImage:
		readSource(&o, &item)
	}
	return item
}

// readSource reads where an image or a file comes from.
func readSource(o *object, item *InputItem) {
	o.exactlyOne("data", "url")
	item.Data = maybe(o, "data", aFilled[string])
	item.URL = maybe(o, "url", aFilled[string])
	item.MimeType = need(o, "mimeType", aString)
}

// anElement reads a mark in a text. Its range is not held against the text: who
// shows it clips it.
func anElement(r *reading, raw []byte) TextElement {
	o, ok := r.open(raw)
	if !ok {
		return TextElement{}
	}
	return TextElement{
		ByteRange:   need(&o, "byteRange", aByteRange),
		Placeholder: maybe(&o, "placeholder", aString),
	}
}

// aByteRange reads [start, end] with 0 ≤ start ≤ end.
func aByteRange(r *reading, raw []byte) [2]int64 {
	mark := len(r.faults)
	list := someNaturals(r, raw)
	if len(r.faults) > mark {
		return [2]int64{}
	}
	if len(list) != 2 || list[0] > list[1] {
		r.fault("must be [start, end] with start ≤ end")
		return [2]int64{}
	}
	return [2]int64{list[0], list[1]}
}

// MarshalJSON is the input as it stands in params.
func (in Input) MarshalJSON() ([]byte, error) {
	return appendInput(nil, in), nil
}

// UnmarshalJSON is DecodeInput.
func (in *Input) UnmarshalJSON(raw []byte) error {
	decoded, err := DecodeInput(raw)
	if err == nil {
		*in = decoded
	}
	return err
}

// appendItem appends one item with the members of its type.
func appendItem(dst []byte, item InputItem) []byte {
	dst = appendText(dst, `{"type":`, string(item.Type))
	dst = appendOptText(dst, `,"id":`, item.ID)
	if item.Type == InputText {
		dst = appendText(dst, `,"text":`, item.Text)
		dst = appendOptList(dst, `,"elements":`, item.Elements, AppendTextElement)
		return append(dst, '}')
	}
	dst = appendOptText(dst, `,"data":`, item.Data)
	dst = appendOptText(dst, `,"url":`, item.URL)
	dst = appendText(dst, `,"mimeType":`, item.MimeType)
	dst = appendOptText(dst, `,"filename":`, item.Filename)
	return append(dst, '}')
}

// AppendTextElement appends {byteRange, placeholder?}, in an input and in the
// _meta of its echo alike.
func AppendTextElement(dst []byte, e TextElement) []byte {
	dst = appendInt(dst, `{"byteRange":[`, e.ByteRange[0])
	dst = appendInt(dst, `,`, e.ByteRange[1])
	dst = appendOptText(append(dst, ']'), `,"placeholder":`, e.Placeholder)
	return append(dst, '}')
}
