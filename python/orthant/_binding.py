# SPDX-License-Identifier: Apache-2.0
# Made by tools/python_binding.py of include/orthant/orthant.h and src/verify/callable.h and src/api/commands.h; not to be edited.
"""Types and functions of the C library. Text that it gives is an address."""
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_double, c_float, c_int,
                    c_int32, c_long, c_size_t, c_uint64, c_void_p)

VERSION = "0.1.0"
ERRORS = {
    0: ('OK', 'success'),
    1: ('NO_MEMORY', 'out of memory'),
    2: ('ARGUMENT', 'invalid option or argument'),
    3: ('SHAPE', 'shapes do not fit'),
    4: ('IO', 'cannot read or write'),
    5: ('FORMAT', 'malformed file or text'),
    6: ('UNSUPPORTED', 'this cannot be done'),
    7: ('DIVERGED', 'a number is not finite'),
    8: ('INTERRUPTED', 'stopped by a signal'),
    9: ('INTERNAL', 'internal error'),
    10: ('DISPROVED', 'a check failed'),
}
OA_OK = 0
OA_NO_MEMORY = 1
OA_ARGUMENT = 2
OA_SHAPE = 3
OA_IO = 4
OA_FORMAT = 5
OA_UNSUPPORTED = 6
OA_DIVERGED = 7
OA_INTERRUPTED = 8
OA_INTERNAL = 9
OA_DISPROVED = 10
OA_KIND_INT = 0
OA_KIND_REAL = 1
OA_KIND_BOOL = 2
OA_KIND_TEXT = 3
OA_KIND_CHOICE = 4
OA_TASK_SCORES = 8
OA_CALL_WHOLE = 0
OA_CALL_STEPS = 1
OA_CALL_GRADIENT = 2

oa_sink = CFUNCTYPE(None, c_void_p, c_void_p, c_size_t)


class oa_settings(Structure):
    _fields_ = [
        ('threads', c_int),
        ('isa', c_char_p),
        ('log', CFUNCTYPE(None, c_void_p, c_int, c_void_p)),
        ('log_argument', c_void_p),
        ('stop', POINTER(c_int)),
        ('device', c_char_p),
        ('reserved', c_long * 3),
    ]


class oa_output(Structure):
    _fields_ = [
        ('sink', oa_sink),
        ('argument', c_void_p),
        ('json', c_int),
        ('width', c_int),
        ('reserved', c_long * 2),
    ]


class oa_option(Structure):
    _fields_ = [
        ('section', c_char_p),
        ('name', c_char_p),
        ('kind', c_int),
        ('fallback', c_char_p),
        ('choices', c_char_p),
        ('low', c_double),
        ('high', c_double),
        ('help', c_char_p),
        ('former', c_char_p),
        ('reserved', c_long * 1),
    ]


class oa_task_score(Structure):
    _fields_ = [
        ('name', c_char_p),
        ('unit', c_char_p),
        ('value', c_double),
    ]


class oa_scores(Structure):
    _fields_ = [
        ('loss', c_double),
        ('perplexity', c_double),
        ('bits_per_character', c_double),
        ('bits_per_byte', c_double),
        ('tokens', c_double),
        ('measures', c_int),
        ('measured', oa_task_score * 8),
        ('reserved', c_double * 4),
    ]


class oa_eval_request(Structure):
    _fields_ = [
        ('files', c_char_p),
        ('columns', c_char_p),
        ('unknown_labels', c_char_p),
        ('stride', c_long),
        ('context', c_long),
        ('reserved', c_long * 2),
    ]


class oa_eval_choices_request(Structure):
    _fields_ = [
        ('pairs', c_char_p),
        ('choices', c_char_p),
        ('prefix', c_char_p),
        ('details', c_char_p),
        ('reserved', c_long * 4),
    ]


class oa_generate_request(Structure):
    _fields_ = [
        ('prompt', c_char_p),
        ('length', c_size_t),
        ('stop', POINTER(c_char_p)),
        ('stops', c_int),
        ('next', CFUNCTYPE(c_int, c_void_p, POINTER(c_void_p), POINTER(c_size_t))),
        ('argument', c_void_p),
        ('precision', c_char_p),
        ('reserved', c_long * 3),
    ]


class oa_translate_request(Structure):
    _fields_ = [
        ('next', CFUNCTYPE(c_int, c_void_p, POINTER(c_void_p), POINTER(c_size_t))),
        ('argument', c_void_p),
        ('best', c_int),
        ('scores', c_int),
        ('at_once', c_int),
        ('bytes', c_size_t),
        ('alignment', c_int),
        ('reserved', c_long * 4),
    ]


class oa_classify_request(Structure):
    _fields_ = [
        ('next', CFUNCTYPE(c_int, c_void_p, POINTER(c_void_p), POINTER(c_size_t))),
        ('argument', c_void_p),
        ('bytes', c_size_t),
        ('files', c_char_p),
        ('columns', c_char_p),
        ('batch', c_int),
        ('scores', c_int),
        ('at_once', c_int),
        ('reserved', c_long * 4),
    ]


class oa_language_model_shape(Structure):
    _fields_ = [
        ('vocabulary', c_long),
        ('context', c_long),
        ('width', c_long),
        ('layers', c_long),
        ('heads', c_long),
        ('attention', c_char_p),
        ('reserved', c_long * 4),
    ]


class oa_data_request(Structure):
    _fields_ = [
        ('task', c_char_p),
        ('train', c_long),
        ('valid', c_long),
        ('test', c_long),
        ('seed', c_uint64),
        ('min_length', c_long),
        ('max_length', c_long),
        ('alphabet', c_long),
        ('values', c_long),
        ('depth', c_long),
        ('arguments', c_long),
        ('pairs', c_long),
        ('copies', c_long),
        ('motif', c_long),
        ('noise', c_long),
        ('noise_words', c_long),
        ('reserved', c_long * 4),
    ]


class oa_pack_files(Structure):
    _fields_ = [
        ('files', c_char_p),
        ('tokenizer', c_char_p),
        ('documents', c_char_p),
        ('column', c_char_p),
        ('end', c_char_p),
        ('shard_tokens', c_uint64),
        ('reserved', c_long * 4),
    ]


class oa_dedup_files(Structure):
    _fields_ = [
        ('files', c_char_p),
        ('documents', c_char_p),
        ('column', c_char_p),
        ('near', c_double),
        ('shingle', c_int),
        ('memory', c_uint64),
        ('reserved', c_long * 4),
    ]


class oa_score_request(Structure):
    _fields_ = [
        ('metric', POINTER(c_char_p)),
        ('metrics', c_int),
        ('reference', POINTER(c_char_p)),
        ('references', c_int),
        ('hypothesis', POINTER(c_char_p)),
        ('hypotheses', c_int),
        ('decimals', c_int),
        ('sentence_level', c_int),
        ('lowercase', c_int),
        ('bleu_tokenize', c_char_p),
        ('bleu_smooth', c_char_p),
        ('bleu_smooth_value', c_double),
        ('bleu_order', c_int),
        ('bleu_effective_order', c_int),
        ('bleu_force', c_int),
        ('chrf_characters', c_int),
        ('chrf_words', c_int),
        ('chrf_beta', c_int),
        ('chrf_whitespace', c_int),
        ('chrf_eps_smoothing', c_int),
        ('ter_normalized', c_int),
        ('ter_no_punctuation', c_int),
        ('ter_asian', c_int),
        ('ter_case_sensitive', c_int),
        ('rouge_stemmer', c_int),
        ('rouge_newline', c_char_p),
        ('f1_average', c_char_p),
        ('f1_positive', c_char_p),
        ('resample', c_char_p),
        ('samples', c_long),
        ('seed', c_uint64),
        ('reserved', c_long * 4),
    ]


class oa_attention_form(Structure):
    _fields_ = [
        ('width', c_long),
        ('heads', c_long),
        ('length', c_long),
        ('memory_length', c_long),
        ('causal', c_int),
        ('cross', c_int),
        ('bias', c_int),
        ('precision', c_char_p),
        ('seed', c_uint64),
        ('reserved', c_long * 4),
    ]


class oa_attention_input(Structure):
    _fields_ = [
        ('batch', c_long),
        ('tokens', c_long),
        ('x', c_void_p),
        ('memory', c_void_p),
        ('memory_tokens', c_long),
        ('lengths', POINTER(c_int32)),
        ('reserved', c_long * 4),
    ]


class oa_weights(Structure):
    _fields_ = [
        ('name', c_char_p),
        ('dims', c_int),
        ('dim', c_long * 4),
        ('count', c_long),
        ('value', c_void_p),
        ('gradient', c_void_p),
        ('reserved', c_long * 2),
    ]


class oa_core_form(Structure):
    _fields_ = [
        ('heads', c_long),
        ('key_heads', c_long),
        ('head_width', c_long),
        ('value_width', c_long),
        ('length', c_long),
        ('key_length', c_long),
        ('causal', c_int),
        ('cross', c_int),
        ('precision', c_char_p),
        ('seed', c_uint64),
        ('logit_cap', c_double),
        ('bf16_arrays', c_int),
        ('reserved', c_long * 3),
    ]


class oa_core_input(Structure):
    _fields_ = [
        ('batch', c_long),
        ('queries', c_long),
        ('keys', c_long),
        ('q', c_void_p),
        ('k', c_void_p),
        ('v', c_void_p),
        ('q_stride', c_long * 3),
        ('k_stride', c_long * 3),
        ('v_stride', c_long * 3),
        ('lengths', POINTER(c_int32)),
        ('no_backward', c_int),
        ('reserved', c_long * 4),
    ]


class oa_attend_options(Structure):
    _fields_ = [
        ('spec', c_char_p),
        ('in', c_char_p),
        ('out', c_char_p),
        ('heads', c_int),
        ('causal', c_int),
        ('precision', c_char_p),
        ('seed', c_uint64),
        ('weights', c_int),
        ('steps', c_int),
        ('reserved', c_long * 4),
    ]


class oa_forward_request(Structure):
    _fields_ = [
        ('in', c_char_p),
        ('out', c_char_p),
        ('precision', c_char_p),
        ('reserved', c_long * 4),
    ]


class oa_callable_call(Structure):
    _fields_ = [
        ('claim', c_char_p),
        ('mode', c_int),
        ('is_double', c_int),
        ('causal', c_int),
        ('arrays', c_int),
        ('batch', c_long),
        ('heads', c_long),
        ('tokens', c_long),
        ('width', c_long),
        ('input', POINTER(c_double) * 3),
        ('lengths', POINTER(c_int32)),
        ('dy', POINTER(c_double)),
        ('y', POINTER(c_double)),
        ('slope', POINTER(c_double) * 3),
        ('changed', c_int),
        ('type', c_char * 16),
        ('name', c_char * 64),
        ('why', c_char * 400),
    ]


class oa_callable(Structure):
    _fields_ = [
        ('run', CFUNCTYPE(c_int, c_void_p, POINTER(oa_callable_call), c_long)),
        ('argument', c_void_p),
        ('title', c_char_p),
        ('claims', c_char_p),
        ('arrays', c_int),
        ('batch', c_long),
        ('heads', c_long),
        ('width', c_long),
        ('tokens', POINTER(c_long)),
        ('lengths', c_int),
        ('copies', c_int),
        ('seed', c_uint64),
    ]


class oa_foreign_request(Structure):
    _fields_ = [
        ('command', c_char_p),
        ('claims', c_char_p),
        ('inputs', c_char_p),
        ('tokens', c_char_p),
        ('folder', c_char_p),
        ('width', c_long),
        ('heads', c_long),
        ('timeout_seconds', c_double),
        ('seed', c_uint64),
    ]


class oa_inspect_request(Structure):
    _fields_ = [
        ('text', c_char_p),
        ('length', c_size_t),
        ('target', c_char_p),
        ('target_length', c_size_t),
        ('page', c_char_p),
        ('reserved', c_long * 4),
    ]


class oa_serve_request(Structure):
    _fields_ = [
        ('folder', POINTER(c_char_p)),
        ('folders', c_int),
        ('host', c_char_p),
        ('port', c_int),
        ('key_file', c_char_p),
        ('sequences', c_int),
        ('connections', c_long),
        ('body', c_long),
        ('timeout', c_double),
        ('precision', c_char_p),
        ('reserved', c_long * 3),
    ]


class oa_evidence_request(Structure):
    _fields_ = [
        ('name', POINTER(c_char_p)),
        ('names', c_int),
        ('experiments', c_char_p),
        ('data', c_char_p),
        ('folder', c_char_p),
        ('page', c_char_p),
        ('list', c_int),
        ('no_run', c_int),
        ('reserved', c_long * 4),
    ]


class oa_judge_request(Structure):
    _fields_ = [
        ('path', POINTER(c_char_p)),
        ('paths', c_int),
        ('system', c_char_p),
        ('seed', c_char_p),
        ('step', c_char_p),
        ('at', c_char_p),
        ('better', c_int),
        ('level', c_double),
        ('unpaired', c_int),
        ('reserved', c_long * 4),
    ]


class oa_bench_request(Structure):
    _fields_ = [
        ('attentions', POINTER(c_char_p)),
        ('count', c_int),
        ('length', POINTER(c_long)),
        ('lengths', c_int),
        ('tokens', c_long),
        ('width', c_long),
        ('heads', c_long),
        ('causal', c_int),
        ('precision', c_char_p),
        ('processor_time', c_int),
        ('reserved', c_long * 4),
    ]


class oa_decode_bench_request(Structure):
    _fields_ = [
        ('attentions', POINTER(c_char_p)),
        ('count', c_int),
        ('sequences', POINTER(c_long)),
        ('sizes', c_int),
        ('after', c_long),
        ('processor_time', c_int),
        ('reserved', c_long * 4),
    ]


FUNCTIONS = {
    'oa_open': (c_void_p, [
        POINTER(oa_settings),
    ]),
    'oa_close': (None, [
        c_void_p,
    ]),
    'oa_last_error': (c_int, [
        c_void_p,
        POINTER(c_char_p),
    ]),
    'oa_clear_error': (None, [
        c_void_p,
    ]),
    'oa_version': (c_void_p, [
    ]),
    'oa_join': (c_int, [
        c_void_p,
        c_double,
    ]),
    'oa_rank': (c_int, [
        c_void_p,
    ]),
    'oa_speaks': (c_int, [
        c_void_p,
    ]),
    'oa_stopped_by': (c_int, [
        c_void_p,
    ]),
    'oa_part': (None, [
        c_void_p,
        c_int,
    ]),
    'oa_option_describe': (c_int, [
        c_int,
        POINTER(oa_option),
    ]),
    'oa_config_new': (c_void_p, [
        c_void_p,
    ]),
    'oa_config_free': (None, [
        c_void_p,
    ]),
    'oa_config_set': (c_int, [
        c_void_p,
        c_char_p,
        c_char_p,
    ]),
    'oa_config_get': (c_int, [
        c_void_p,
        c_char_p,
        POINTER(oa_output),
    ]),
    'oa_config_get_number': (c_int, [
        c_void_p,
        c_char_p,
        POINTER(c_double),
    ]),
    'oa_config_get_text': (c_int, [
        c_void_p,
        c_char_p,
        POINTER(c_char_p),
    ]),
    'oa_config_read': (c_int, [
        c_void_p,
        c_char_p,
    ]),
    'oa_config_write': (c_int, [
        c_void_p,
        POINTER(oa_output),
    ]),
    'oa_config_read_run': (c_int, [
        c_void_p,
        c_char_p,
    ]),
    'oa_config_overwrite': (None, [
        c_void_p,
        c_int,
    ]),
    'oa_train': (c_int, [
        c_void_p,
        c_char_p,
        c_int,
        POINTER(oa_scores),
        POINTER(oa_output),
    ]),
    'oa_eval': (c_int, [
        c_void_p,
        c_char_p,
        POINTER(oa_eval_request),
        POINTER(oa_scores),
        POINTER(oa_output),
    ]),
    'oa_eval_choices': (c_int, [
        c_void_p,
        c_char_p,
        POINTER(oa_eval_choices_request),
        POINTER(oa_output),
    ]),
    'oa_compare': (c_int, [
        c_void_p,
        POINTER(c_char_p),
        c_int,
        c_char_p,
        POINTER(oa_output),
    ]),
    'oa_mechanism_describe': (c_int, [
        c_int,
        POINTER(c_char_p),
        POINTER(c_char_p),
    ]),
    'oa_generate': (c_int, [
        c_void_p,
        c_char_p,
        POINTER(oa_generate_request),
        POINTER(oa_output),
    ]),
    'oa_translate': (c_int, [
        c_void_p,
        c_char_p,
        POINTER(oa_translate_request),
        POINTER(oa_output),
    ]),
    'oa_classify': (c_int, [
        c_void_p,
        c_char_p,
        POINTER(oa_classify_request),
        POINTER(oa_output),
    ]),
    'oa_language_model_open': (c_void_p, [
        c_void_p,
        c_char_p,
    ]),
    'oa_language_model_close': (None, [
        c_void_p,
    ]),
    'oa_language_model_describe': (None, [
        c_void_p,
        POINTER(oa_language_model_shape),
    ]),
    'oa_language_model_encode': (c_int, [
        c_void_p,
        c_char_p,
        c_size_t,
        POINTER(c_int32),
        c_size_t,
        POINTER(c_size_t),
    ]),
    'oa_language_model_token': (c_void_p, [
        c_void_p,
        c_int32,
        POINTER(c_size_t),
    ]),
    'oa_language_model_score': (c_int, [
        c_void_p,
        POINTER(c_int32),
        c_size_t,
        POINTER(c_double),
    ]),
    'oa_language_model_state_open': (c_void_p, [
        c_void_p,
    ]),
    'oa_language_model_state_close': (None, [
        c_void_p,
    ]),
    'oa_language_model_state_reset': (None, [
        c_void_p,
    ]),
    'oa_language_model_state_copy': (c_int, [
        c_void_p,
        c_void_p,
    ]),
    'oa_language_model_step': (c_int, [
        c_void_p,
        POINTER(c_int32),
        c_size_t,
        POINTER(c_float),
    ]),
    'oa_tokenizer_make': (c_int, [
        c_void_p,
        c_char_p,
        c_char_p,
        c_char_p,
        POINTER(oa_output),
    ]),
    'oa_encode': (c_int, [
        c_void_p,
        c_char_p,
        c_char_p,
        c_size_t,
        POINTER(oa_output),
    ]),
    'oa_decode': (c_int, [
        c_void_p,
        c_char_p,
        POINTER(c_int32),
        c_size_t,
        POINTER(oa_output),
    ]),
    'oa_data': (c_int, [
        c_void_p,
        POINTER(oa_data_request),
        c_char_p,
        POINTER(oa_output),
    ]),
    'oa_pack': (c_int, [
        c_void_p,
        POINTER(oa_pack_files),
        c_char_p,
        POINTER(oa_output),
    ]),
    'oa_dedup': (c_int, [
        c_void_p,
        POINTER(oa_dedup_files),
        c_char_p,
        POINTER(oa_output),
    ]),
    'oa_score': (c_int, [
        c_void_p,
        POINTER(oa_score_request),
        POINTER(oa_output),
    ]),
    'oa_attention_open': (c_void_p, [
        c_void_p,
        c_char_p,
        POINTER(oa_attention_form),
    ]),
    'oa_attention_close': (None, [
        c_void_p,
    ]),
    'oa_attention_forward': (c_int, [
        c_void_p,
        POINTER(oa_attention_input),
        c_void_p,
    ]),
    'oa_attention_backward': (c_int, [
        c_void_p,
        c_void_p,
        c_void_p,
        c_void_p,
    ]),
    'oa_attention_pass_open': (c_void_p, [
        c_void_p,
    ]),
    'oa_attention_pass_close': (None, [
        c_void_p,
    ]),
    'oa_attention_pass_forward': (c_int, [
        c_void_p,
        POINTER(oa_attention_input),
        c_void_p,
    ]),
    'oa_attention_pass_backward': (c_int, [
        c_void_p,
        c_void_p,
        c_void_p,
        c_void_p,
    ]),
    'oa_attention_state_open': (c_void_p, [
        c_void_p,
    ]),
    'oa_attention_state_close': (None, [
        c_void_p,
    ]),
    'oa_attention_state_reset': (None, [
        c_void_p,
    ]),
    'oa_attention_state_copy': (c_int, [
        c_void_p,
        c_void_p,
    ]),
    'oa_attention_step': (c_int, [
        c_void_p,
        POINTER(oa_attention_input),
        c_void_p,
    ]),
    'oa_attention_weights': (c_int, [
        c_void_p,
        c_int,
        POINTER(oa_weights),
    ]),
    'oa_attention_changed': (None, [
        c_void_p,
    ]),
    'oa_attention_zero_gradients': (None, [
        c_void_p,
    ]),
    'oa_core_open': (c_void_p, [
        c_void_p,
        c_char_p,
        POINTER(oa_core_form),
    ]),
    'oa_core_close': (None, [
        c_void_p,
    ]),
    'oa_core_pass_open': (c_void_p, [
        c_void_p,
    ]),
    'oa_core_pass_close': (None, [
        c_void_p,
    ]),
    'oa_core_forward': (c_int, [
        c_void_p,
        POINTER(oa_core_input),
        c_void_p,
    ]),
    'oa_core_backward': (c_int, [
        c_void_p,
        c_void_p,
        c_void_p,
        c_void_p,
        c_void_p,
    ]),
    'oa_core_state_open': (c_void_p, [
        c_void_p,
        c_long,
    ]),
    'oa_core_state_close': (None, [
        c_void_p,
    ]),
    'oa_core_state_reset': (None, [
        c_void_p,
    ]),
    'oa_core_state_copy': (c_int, [
        c_void_p,
        POINTER(c_long),
        c_void_p,
    ]),
    'oa_core_step': (c_int, [
        c_void_p,
        POINTER(oa_core_input),
        c_void_p,
    ]),
    'oa_core_weights': (c_int, [
        c_void_p,
        c_int,
        POINTER(oa_weights),
    ]),
    'oa_core_changed': (None, [
        c_void_p,
    ]),
    'oa_core_zero_gradients': (None, [
        c_void_p,
    ]),
    'oa_attend': (c_int, [
        c_void_p,
        POINTER(oa_attend_options),
    ]),
    'oa_forward': (c_int, [
        c_void_p,
        c_char_p,
        POINTER(oa_forward_request),
    ]),
    'oa_callable_verify': (c_int, [
        c_void_p,
        POINTER(oa_callable),
        POINTER(oa_output),
    ]),
    'oa_list': (c_int, [
        c_void_p,
        POINTER(oa_output),
    ]),
    'oa_list_markdown': (c_int, [
        c_void_p,
        POINTER(oa_output),
    ]),
    'oa_list_tasks': (c_int, [
        c_void_p,
        POINTER(oa_output),
    ]),
    'oa_data_list': (c_int, [
        c_void_p,
        POINTER(oa_output),
    ]),
    'oa_explain': (c_int, [
        c_void_p,
        c_char_p,
        POINTER(oa_output),
    ]),
    'oa_theory': (c_int, [
        c_void_p,
        c_char_p,
        POINTER(oa_output),
    ]),
    'oa_verify': (c_int, [
        c_void_p,
        c_char_p,
        c_int,
        POINTER(oa_output),
    ]),
    'oa_inspect': (c_int, [
        c_void_p,
        c_char_p,
        POINTER(oa_inspect_request),
        POINTER(oa_output),
    ]),
    'oa_plan_training': (c_int, [
        c_void_p,
        POINTER(c_char_p),
        c_int,
        POINTER(oa_output),
    ]),
    'oa_evidence': (c_int, [
        c_void_p,
        POINTER(oa_evidence_request),
        POINTER(oa_output),
    ]),
    'oa_import': (c_int, [
        c_void_p,
        c_char_p,
        c_char_p,
        c_char_p,
        POINTER(oa_output),
    ]),
    'oa_export': (c_int, [
        c_void_p,
        c_char_p,
        c_char_p,
        POINTER(oa_output),
    ]),
    'oa_swap': (c_int, [
        c_void_p,
        c_char_p,
        c_char_p,
        c_char_p,
        POINTER(oa_output),
    ]),
    'oa_distil': (c_int, [
        c_void_p,
        c_char_p,
        c_char_p,
        POINTER(oa_output),
    ]),
    'oa_judge_runs': (c_int, [
        c_void_p,
        POINTER(oa_judge_request),
        c_char_p,
        POINTER(oa_output),
    ]),
    'oa_doctor': (c_int, [
        c_void_p,
        POINTER(oa_output),
    ]),
    'oa_bench_peak': (c_int, [
        c_void_p,
        POINTER(oa_output),
    ]),
    'oa_bench_kernels': (c_int, [
        c_void_p,
        POINTER(oa_output),
    ]),
    'oa_bench_attention': (c_int, [
        c_void_p,
        POINTER(oa_bench_request),
        POINTER(oa_output),
    ]),
    'oa_bench_step': (c_int, [
        c_void_p,
        c_int,
        POINTER(oa_output),
    ]),
    'oa_bench_decode': (c_int, [
        c_void_p,
        POINTER(oa_decode_bench_request),
        POINTER(oa_output),
    ]),
}
