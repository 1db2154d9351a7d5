"""Prints the rows of family_defaults_test.cpp: what an empty config.json of each decoder means to transformers.

    python class_defaults.py

Needs transformers; the rows in the test are those of 5.24.0.
"""

from transformers import CONFIG_MAPPING

FAMILIES = """llama mistral qwen2 qwen3 phi3 phi gpt_neox gptj gpt2 opt bloom mpt falcon stablelm nemotron starcoder2 smollm3
arcee granite ernie4_5 glm4 cohere cohere2 exaone4 olmo olmo2 olmo3 chameleon gemma gemma2 gemma3_text gemma4_text""".split()


def first(config, *names, default=None):
    for name in names:
        value = getattr(config, name, None)
        if value is not None:
            return value
    return default


def row(name):
    c = CONFIG_MAPPING[name]()
    width = first(c, "n_embd", "d_model", "hidden_size")
    heads = first(c, "n_head", "n_heads", "num_attention_heads")
    layers = first(c, "n_layer", "n_layers", "num_hidden_layers")
    types = getattr(c, "layer_types", None)
    layer = c.per_layer_config[0] if getattr(c, "is_heterogeneous", False) else c
    head = first(layer, "head_dim", default=width // heads)
    kv = 1 if getattr(c, "multi_query", False) else first(c, "num_key_value_heads", "num_kv_heads", default=heads)

    rope = getattr(c, "rope_parameters", None) or {}
    if types and types[0] in rope:
        rope = rope[types[0]]
    theta, turned = rope.get("rope_theta", 0), int(head * rope.get("partial_rotary_factor", 1)) if rope else 0
    if name == "gptj":
        theta, turned = 10000, c.rotary_dim                   # theta is written in its model
    window = getattr(c, "sliding_window", None) or 0
    sliding = types.count("sliding_attention") if types else layers if window else 0
    eps = first(c, "rms_norm_eps", "layer_norm_eps", "layer_norm_epsilon", "norm_epsilon", "norm_eps", default=1e-5)
    act = first(c, "hidden_activation", "hidden_act", "activation_function", "activation", default="")
    positions = first(c, "n_positions", "max_seq_len", "max_position_embeddings", default=0)
    ffn = first(c, "n_inner", "ffn_dim", "ffn_hidden_size", "intermediate_size", default=4 * width)
    numbers = [width, heads, kv, head, ffn, layers, positions, c.vocab_size]
    return (f'{{"{name}", {{{", ".join(map(str, numbers))}}}, {eps:g}, {theta:g}, {turned}, {sliding}, '
            f'{window if sliding else 0}, {str(c.tie_word_embeddings).lower()}, "{act}"}},')


for family in FAMILIES:
    print(row(family))
