#!/usr/bin/env python3
"""Writes src/tokenizers/regex_properties.h: what \\p{NAME} is to the reference (Oniguruma as the package tokenizers
has it), as PCRE2's class with what must be added to it and taken from it. The sets are measured, not looked up: both
libraries are asked about every code point outside the large uniform blocks (letters of Han, Hangul, Tangut and private
use, of which the first and last sixteen stand for all).

    python3 regex_properties.py >../../src/tokenizers/regex_properties.h    needs tokenizers, libpcre2-8.so.0
"""
import ctypes
import sys
import tokenizers
from tokenizers import Regex, pre_tokenizers

UNIFORM = [(0x3410, 0x4DA0), (0x4E10, 0x9F00), (0xAD00, 0xD700), (0xD800, 0xDFFF), (0xE010, 0xF8F0),
           (0x17010, 0x187E0), (0x20010, 0x2A6C0), (0x2A710, 0x2B720), (0x2B750, 0x2B810), (0x2B830, 0x2CE90),
           (0x2CEC0, 0x2EBD0), (0x2EC00, 0x2EE50), (0x30010, 0x31340), (0x31360, 0x32390), (0x323C0, 0xDFFF0),
           (0xE0210, 0xEFFF0), (0xF0010, 0xFFFF0), (0x100010, 0x10FFF0)]
CODES = [c for c in range(0x110000) if not any(a <= c <= b for a, b in UNIFORM)]
PLACE = {c: i for i, c in enumerate(CODES)}
TEXT = "".join(map(chr, CODES))
BYTES = TEXT.encode()
AT, _offset = {}, 0
for _code in CODES:
    AT[_offset] = _code
    _offset += len(chr(_code).encode())

# Oniguruma's names: general categories, scripts with their short names, POSIX brackets, binary properties.
CATEGORIES = """c other;cc control cntrl;cf format;cn unassigned;co privateuse;cs surrogate;l letter;ll lowercaseletter;
lm modifierletter;lo otherletter;lt titlecaseletter;lu uppercaseletter;m mark combiningmark;mc spacingmark;
me enclosingmark;mn nonspacingmark;n number;nd decimalnumber digit;nl letternumber;no othernumber;p punctuation punct;
pc connectorpunctuation;pd dashpunctuation;pe closepunctuation;pf finalpunctuation;pi initialpunctuation;
po otherpunctuation;ps openpunctuation;s symbol;sc currencysymbol;sk modifiersymbol;sm mathsymbol;so othersymbol;
z separator;zl lineseparator;zp paragraphseparator;zs spaceseparator"""
SCRIPTS = """adlam adlm;aghb caucasianalbanian;ahom;anatolianhieroglyphs hluw;arabic arab;armenian armn;armi imperialaramaic;
avestan avst;balinese bali;bamum bamu;bassavah bass;batak batk;bengali beng;bhaiksuki bhks;bopomofo bopo;brahmi brah;
braille brai;buginese bugi;buhid buhd;canadianaboriginal cans;carian cari;chakma cakm;cham;cherokee cher;
chorasmian chrs;common zyyy;coptic copt qaac;cuneiform xsux;cypriot cprt;cyprominoan cpmn;cyrillic cyrl;deseret dsrt;
devanagari deva;divesakuru diak;dogra dogr;duployan dupl;egyptianhieroglyphs egyp;elbasan elba;elymaic elym;
ethiopic ethi;garay gara;georgian geor;glagolitic glag;gothic goth;grantha gran;greek grek;gujarati gujr;
gunjalagondi gong;gurmukhi guru;gurungkhema gukh;han hani;hangul hang;hanifirohingya rohg;hanunoo hano;hatran hatr;
hebrew hebr;hiragana hira;inherited zinh qaai;inscriptionalpahlavi phli;inscriptionalparthian prti;javanese java;
kaithi kthi;kannada knda;katakana kana;kawi;kayahli kali;kharoshthi khar;khitansmallscript kits;khmer khmr;khojki khoj;
khudawadi sind;kiratrai krai;lao laoo;latin latn;lepcha lepc;limbu limb;lineara lina;linearb linb;lisu;lycian lyci;
lydian lydi;mahajani mahj;makasar maka;malayalam mlym;mandaic mand;manichaean mani;marchen marc;masaramgondi gonm;
medefaidrin medf;meeteimayek mtei;mendekikakui mend;meroiticcursive merc;meroitichieroglyphs mero;miao plrd;modi;
mongolian mong;mro mroo;multani mult;myanmar mymr;nabataean nbat;nagmundari nagm;nandinagari nand;newa;newtailue talu;
nko nkoo;nushu nshu;nyiakengpuachuehmong hmnp;ogham ogam;olchiki olck;oldhungarian hung;olditalic ital;
oldnortharabian narb;oldpermic perm;oldpersian xpeo;oldsogdian sogo;oldsoutharabian sarb;oldturkic orkh;olduyghur ougr;
olonal onao;oriya orya;osage osge;osmanya osma;pahawhhmong hmng;palmyrene palm;paucinhau pauc;phagspa phag;
phoenician phnx;psalterpahlavi phlp;rejang rjng;runic runr;samaritan samr;saurashtra saur;sharada shrd;shavian shaw;
siddham sidd;signwriting sgnw;sinhala sinh;sogdian sogd;sorasompeng sora;soyombo soyo;sundanese sund;sunuwar sunu;
sylotinagri sylo;syriac syrc;tagalog tglg;tagbanwa tagb;taile tale;taitham lana;taiviet tavt;takri takr;tamil taml;
tangsa tnsa;tangut tang;telugu telu;thaana thaa;thai;tibetan tibt;tifinagh tfng;tirhuta tirh;todhri todr;toto;
tulutigalari tutg;ugaritic ugar;vai vaii;vithkuqi vith;wancho wcho;warangciti wara;yezidi yezi;yi yiii;
zanabazarsquare zanb"""
OTHERS = [("alnum", r"\p{Alphabetic}\p{Nd}"), ("alpha alphabetic", r"\p{Alphabetic}"), ("any", r"\x{0}-\x{10FFFF}"),
          ("ascii", r"\x{0}-\x{7F}"), ("blank", r"\t\p{Zs}"), ("lc casedletter", r"\p{Lu}\p{Ll}\p{Lt}"),
          ("lower lowercase", r"\p{Lowercase}"), ("upper uppercase", r"\p{Uppercase}"),
          ("posixpunct", r"\p{P}\p{S}"), ("space whitespace wspace", r"\t-\r\x{85}\p{Z}"),
          ("xdigit asciihexdigit ahex", "0-9A-Fa-f"), ("graph", r"\p{L}\p{M}\p{N}\p{P}\p{S}\p{Cf}\p{Co}"),
          ("print", r"\p{L}\p{M}\p{N}\p{P}\p{S}\p{Cf}\p{Co}\p{Zs}"),
          ("emoji", r"\p{Emoji}"), ("emojipresentation epres", r"\p{Emoji_Presentation}"),
          ("emojimodifier emod", r"\p{Emoji_Modifier}"), ("extendedpictographic extpict", r"\p{ExtPict}"),
          ("regionalindicator ri", r"\p{RI}"), ("ideographic ideo", r"\p{Ideographic}"),
          ("unifiedideograph uideo", r"\p{Unified_Ideograph}"), ("hexdigit hex", r"\p{Hex_Digit}"),
          ("variationselector vs", r"\p{VS}"), ("joincontrol joinc", r"\p{Join_C}"), ("math", r"\p{Math}"),
          ("dash", r"\p{Dash}")]
WORD = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}"  # inside a class; outside, Latin-1 has its own table in the reference

pcre = ctypes.CDLL("libpcre2-8.so.0")
for name in ("pcre2_compile_8", "pcre2_match_data_create_from_pattern_8"):
    getattr(pcre, name).restype = ctypes.c_void_p
pcre.pcre2_get_ovector_pointer_8.restype = ctypes.POINTER(ctypes.c_size_t)
UTF_UCP, NO_CHECK = 0x80000 | 0x20000, 0x40000000


def of_pcre(members):
    pattern, error, where = ("[" + members + "]").encode(), ctypes.c_int(), ctypes.c_size_t()
    code = ctypes.c_void_p(pcre.pcre2_compile_8(pattern, ctypes.c_size_t(len(pattern)), ctypes.c_uint32(UTF_UCP),
                                                ctypes.byref(error), ctypes.byref(where), None))
    if not code:
        return None
    match = ctypes.c_void_p(pcre.pcre2_match_data_create_from_pattern_8(code, None))
    pcre.pcre2_jit_compile_8(code, 1)
    found, at = set(), 0
    while pcre.pcre2_match_8(code, BYTES, ctypes.c_size_t(len(BYTES)), ctypes.c_size_t(at), ctypes.c_uint32(NO_CHECK),
                             match, None) > 0:
        place = pcre.pcre2_get_ovector_pointer_8(match)
        found.add(AT[place[0]])
        at = place[1]
    return found


def of_reference(pattern, text=TEXT):
    """The characters of the text that are a match: inverted removal leaves nothing else."""
    split = pre_tokenizers.Split(Regex(pattern), "removed", True)
    return {ord(piece) for piece, _ in split.pre_tokenize_str(text)}


def class_text(codes):
    runs = []
    for c in sorted(codes):
        if runs and PLACE[c] == PLACE[runs[-1][1]] + 1:
            runs[-1][1] = c
        else:
            runs.append([c, c])
    return "".join("\\x{%X}" % a + ("-\\x{%X}" % b if b > a else "") for a, b in runs)


def c_text(s):
    lines = [s[i:i + 76].replace("\\", "\\\\") for i in range(0, len(s), 76)] or [""]
    return "\n      ".join('"%s"' % line for line in lines)


def has_case(c):
    s = chr(c)
    return s.lower() != s or s.upper() != s or s.casefold() != s or s.title() != s


def row(names, members, form):
    reference, base = of_reference("[" + form + "]"), of_pcre(members) if members else set()
    if base is None:
        sys.exit("PCRE2 does not know " + members)
    case = "OA_CASE_MATTERS"
    if not any(map(has_case, reference)):
        case = "OA_NO_CASE"
    elif of_reference("(?i:[" + form + "])") == reference:
        case = "OA_BOTH_CASES"
    if of_reference("(?i:" + form + ")") != of_reference(form):
        sys.exit(form + " outside of a set depends on case")
    print('    { " %s ", %s,\n      %s,\n      %s, %s },' % (names, c_text(members), c_text(class_text(reference - base)),
                                                     c_text(class_text(base - reference)), case))


def main():
    print("""/* SPDX-License-Identifier: Apache-2.0
 *
 * Generated by tests/tokenizers/regex_properties.py from tokenizers %s and PCRE2's Unicode 14; included by
 * regex_sets.c. Names of properties as Oniguruma knows them (lower case, without blanks, "-" and "_"), PCRE2's members
 * of a class for them, what is to be added to those, what is to be taken away, and what ignoring case changes. */
/* clang-format off */
static const struct oa_property properties[] = {""" % tokenizers.__version__)
    for entry in CATEGORIES.replace("\n", "").split(";"):
        name = entry.split()[0]
        row(entry, "\\p{%s}" % name.capitalize(), "\\p{%s}" % name)
    for entry in SCRIPTS.replace("\n", "").split(";"):
        name = entry.split()[0]
        members = "\\p{sc:%s}" % name
        row(entry, members if of_pcre(members) is not None else "", "\\p{%s}" % name)
    for names, members in OTHERS:
        row(names, members, "\\p{%s}" % names.split()[0])
    row("word", WORD, r"\p{word}")
    print("};\n/* clang-format on */")


main()
