//! Last labels of domain names that make `word.label` a link without a scheme.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Country codes, the classic generic names, and the newer generic names people use.
/// Left out on purpose, though they exist: `md` and `py`, which in a chat are files.
const KNOWN: &str = "\
 ac ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bm bn bo br bs bt bv bw by bz ca cc cd \
 cf cg ch ci ck cl cm cn co cr cu cv cw cx cy cz de dj dk dm do dz ec ee eg er es et eu fi fj fk fm fo fr ga gb gd ge \
 gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu id ie il im in io iq ir is it je jm jo jp ke kg kh ki \
 km kn kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc me mg mh mk ml mm mn mo mp mq mr ms mt mu mv mw mx my mz \
 na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw qa re ro rs ru rw sa sb sc sd se sg sh \
 si sj sk sl sm sn so sr ss st su sv sx sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw tz ua ug uk us uy uz va vc \
 ve vg vi vn vu wf ws ye yt za zm zw \
 com net org edu gov mil int arpa info biz name pro aero asia cat coop jobs mobi museum post tel travel \
 academy agency app art bank blog build business cafe care careers center chat church city clinic cloud club codes \
 college community company computer consulting cool dental design dev digital directory doctor education email energy \
 engineering events expert finance fitness foundation fun fund games global group guide guru health healthcare help \
 hospital host hosting house institute insurance international kim law legal life link live love ltd market marketing \
 media medical money museum network news ngo one ong online organic page partners pharmacy photos place plus press \
 productions properties pub radio science school security services shop site social software solutions space store \
 studio support swiss systems team tech technology today tools university video vision wiki work works world wtf xxx \
 xyz zone amsterdam berlin brussels cologne hamburg koeln london madrid moscow nyc paris quebec tokyo vegas wien zuerich \
 google youtube";

static LABELS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| KNOWN.split_ascii_whitespace().collect());

/// Returns whether `label` is known, compared without regard to case.
pub(super) fn is_known(label: &str) -> bool {
    LABELS.contains(label.to_ascii_lowercase().as_str())
}
