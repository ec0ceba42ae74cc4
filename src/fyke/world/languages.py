"""The raw material of text: per language its commonest words, syllables, punctuation; topics with their words.

Function words are real, so that a language can be recognised; most content words are made of the language's
own syllables, so that no list of words has to be shipped. Scripts that write without spaces do so here.
"""

# ruff: noqa: E501 - one line a list of words

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Language:
    """How a language writes."""

    code: str
    function: tuple[str, ...]
    general: tuple[str, ...]
    syllables: tuple[str, ...]
    see: str
    """What leads to a link inside a sentence."""
    furniture: tuple[str, ...]
    """Home, search, popular, imprint, the cookie banner's words, its button."""
    space: str = " "
    comma: str = ", "
    stop: str = ". "
    syllables_per_word: tuple[int, int] = (2, 4)
    encodings: tuple[str, ...] = ("utf-8",)
    """Legacy encodings that can write it; UTF-8 and UTF-16 always can."""


def _language(
    code: str, function: str, general: str, syllables: str, see: str, furniture: str, **more: object
) -> Language:
    return Language(
        code, tuple(function.split()), tuple(general.split()), tuple(syllables.split()), see,
        tuple(furniture.split("|")), **more,  # type: ignore[arg-type]
    )  # fmt: skip


LATIN = ("iso-8859-1", "windows-1252")

LANGUAGES: dict[str, Language] = {
    language.code: language
    for language in (
        _language(
            "en",
            "the of and to in a is that for it as was with be by on not he this are or his from at which but have an had they you were their one all we can her has there been if more when will would who so no",
            "new old small large early late great common local public long short found made known called used taken given shown kept built written learned group number place work part point line form order case report study summer winter morning people house river country city question answer reason letter",
            "ba co der en fa gra hol in ja ker lan mor nel or pa quin ra son tel un va win yor zen tri ster min dal fen gar",
            "See",
            "Home|Search|Popular|Imprint|We use cookies to improve your visit|Accept all",
            encodings=LATIN,
        ),
        _language(
            "de",
            "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus er hat dass sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder aber vor zur bis",
            "neu groß klein früh spät alt gut lang kurz öffentlich Haus Stadt Land Wasser Arbeit Frage Grund Teil Form Jahr Sommer Winter Menschen Zeit Weg Brücke Fluß Gruppe Straße",
            "ber ge schaft ung lich ver hal ten stein brück mann wald hof feld kirch burg ter schu len grün müh räu zeich tung bau werk",
            "Siehe",
            "Startseite|Suche|Beliebt|Impressum|Wir verwenden Cookies für Ihren Besuch|Alle annehmen",
            encodings=LATIN,
        ),
        _language(
            "fr",
            "de la le et les des en un du une que est pour qui dans a par plus pas au sur ne se ce il sont avec son aux cette ou mais comme on été sa nous leur ses elle deux entre même ces tout après sans être aussi",
            "nouveau grand petit ancien public long court ville pays maison eau travail question partie forme année été hiver matin route pont rivière groupe école théâtre forêt",
            "ber cha dé eau fran gné hui jou lai mon né oi pré quer ré sois tion vil lé mer bel cour tière ron sau",
            "Voir",
            "Accueil|Recherche|Populaire|Mentions|Nous utilisons des cookies pour votre visite|Tout accepter",
            encodings=LATIN,
        ),
        _language(
            "el",
            "και το να του η της με που την από για είναι στο τα ο σε των οι δεν τον στην ένα μια θα τη ότι αυτό όπως ή αλλά πως κατά μετά μας πολύ προς",
            "νέος μεγάλος μικρός παλιός πόλη χώρα σπίτι νερό δρόμος ερώτηση μέρος μορφή χρόνος καλοκαίρι χειμώνας ομάδα σχολείο",
            "κα λο με να πα ρι σα το μου δρα φο θε χα λι βε ρο στα γρα πε νι κό λη τή ση",
            "Βλέπε",
            "Αρχική|Αναζήτηση|Δημοφιλή|Στοιχεία|Χρησιμοποιούμε cookies για την επίσκεψή σας|Αποδοχή",
            encodings=("iso-8859-7", "windows-1253"),
        ),
        _language(
            "ru",
            "и в не на я быть он с что а по это она этот к но они мы весь который из у за свой так же от для о как то бы его при или до если ещё только уже во",
            "новый большой малый старый город страна дом вода работа вопрос часть форма год лето зима утро дорога мост река группа школа театр лес народ",
            "ба во го да ре ми ло ка пе ра со те ну хо стра жен щи ков ный ство при рож цен ла зна чит",
            "Смотри",
            "Главная|Поиск|Популярное|Контакты|Мы используем файлы cookie для вашего визита|Принять",
            encodings=("windows-1251", "koi8-r"),
        ),
        _language(
            "ar",
            "في من على إلى أن عن مع هذا التي الذي كان هذه ما لا كل بعد بين قد ذلك غير عند كما لم حتى ثم أو هو هي وقد منذ",
            "جديد كبير صغير قديم مدينة بلد بيت ماء عمل سؤال جزء شكل سنة صيف شتاء صباح طريق جسر نهر مجموعة مدرسة",
            "با كت در سل مع رف نو قل ها دي وم شر فا تح لي بر جم عل من طا ئر صو",
            "انظر",
            "الرئيسية|بحث|الأكثر قراءة|اتصل بنا|نستخدم ملفات تعريف الارتباط لتحسين زيارتك|موافق",
            comma="، ",
            encodings=("windows-1256",),
        ),
        _language(
            "hi",
            "के में की है और से को का एक यह पर हैं ने कि इस भी नहीं तो लिए हो कर जो था ही या गया उस साथ अपने बाद थे वह",
            "नया बड़ा छोटा पुराना शहर देश घर पानी काम सवाल भाग रूप साल गर्मी सर्दी सुबह सड़क पुल नदी समूह स्कूल",
            "का रा मा ना शा ति वि प्र सं दे ली मे नी गा ता भा री को पु ल",
            "देखें",
            "मुखपृष्ठ|खोज|लोकप्रिय|संपर्क|हम आपकी यात्रा के लिए कुकीज़ का उपयोग करते हैं|स्वीकार",
            stop="। ",
        ),
        _language(
            "zh",
            "的 是 在 了 和 有 我们 他 这 中 大 来 上 个 到 说 为 也 就 与 以 及 对 从 而 但 并 被 把 更 很 都",
            "新 老 城市 国家 房子 工作 问题 部分 形式 夏天 冬天 早晨 道路 桥梁 河流 学校 人民 时间 地方 研究",
            "山 水 天 地 人 木 金 火 土 月 风 雨 花 草 书 画 音 声 海 江 石 星 光 明 文 字 学 生 心 手 力 车 门 路 东 西 南 北 春 秋 食 米 茶 药 法 政 军 商 电 机 网 算",
            "参见",
            "首页|搜索|热门|联系|我们使用Cookie改善您的访问体验|接受",
            space="",
            comma="，",
            stop="。",
            syllables_per_word=(2, 3),
            encodings=("gb18030", "gbk"),
        ),
        _language(
            "ja",
            "の に は を た が で て と し れ さ ある いる も する から な こと として い や など なっ ない この ため その また よう まで",
            "新しい 大きな 小さな 古い 都市 国 家 仕事 問題 部分 形 夏 冬 朝 道 橋 川 学校 人々 時間",
            "山 川 水 木 花 日 月 星 光 風 雨 海 石 文 字 学 生 音 楽 車 電 気 食 米 茶 薬 法 商 東 西 南 北 春 秋 カ ラ ト ミ ス リ ン",
            "参照",
            "ホーム|検索|人気|連絡先|当サイトではクッキーを使用しています|同意する",
            space="",
            comma="、",
            stop="。",
            syllables_per_word=(2, 3),
            encodings=("shift_jis", "euc-jp"),
        ),
        _language(
            "th",
            "ที่ และ ใน ของ เป็น มี การ ได้ ให้ ไม่ จะ ว่า กับ จาก โดย ก็ นี้ แต่ หรือ เพื่อ ซึ่ง อยู่ ความ ไป มา",
            "ใหม่ ใหญ่ เล็ก เก่า เมือง ประเทศ บ้าน น้ำ งาน คำถาม ส่วน รูป ปี ฤดูร้อน ถนน สะพาน แม่น้ำ กลุ่ม โรงเรียน",
            "กา มา นา ดี ปลา ไม้ ฟ้า ดิน ลม ไฟ ทะ เล ภู เขา ข้าว ชา ยา เพลง ดาว แสง สี เสียง ทาง",
            "ดู",
            "หน้าแรก|ค้นหา|ยอดนิยม|ติดต่อ|เราใช้คุกกี้เพื่อปรับปรุงการเยี่ยมชมของคุณ|ยอมรับ",
            space="",
            comma=" ",
            stop=" ",
            encodings=("tis-620",),
        ),
    )
}

TOPICS: dict[str, tuple[str, ...]] = {
    name: tuple(words.split())
    for name, words in {
        "astronomy": "star planet moon orbit telescope galaxy comet eclipse nebula gravity meteor light observatory horizon spectrum crater dust cluster sky season tide ring mass night",
        "botany": "leaf root flower seed stem forest moss fern pollen bark blossom garden soil orchid oak herb fungus meadow branch petal bulb graft hedge shade",
        "cooking": "bread sauce oven flour butter onion garlic soup knife recipe salt sugar dough pepper kitchen roast broth cream spice bean rice supper basket yeast",
        "music": "melody rhythm violin piano chord concert song choir drum tune string composer orchestra opera harmony flute tempo stage organ voice ballad note score dance",
        "sailing": "boat sail mast harbor wind anchor rope deck hull tide keel captain crew storm island chart compass voyage rudder knot bay current buoy wave",
        "geology": "rock mineral crystal layer fault basin granite lava fossil quartz erosion sediment cave glacier ridge valley plate quarry basalt ore clay sand mountain slate",
        "medicine": "patient fever heart nurse blood bone vaccine surgery doctor clinic symptom therapy muscle nerve virus dose lung skin hospital disease diet pulse wound tissue",
        "law": "court judge contract statute witness trial appeal verdict treaty clause evidence lawyer claim property crime jury right duty license damages tenant charter oath bail",
        "football": "goal match player coach league penalty ball team referee stadium striker defender season cup pass corner tackle keeper pitch score champion transfer kick fan",
        "finance": "bank bond stock market price loan interest credit tax fund share dividend currency budget debt investor inflation broker asset profit trade rate audit coin",
        "computing": "compiler kernel memory thread server database network cache protocol packet browser index query cluster processor byte loop stack array socket graph token crawler archive",
        "history": "king empire battle castle treaty revolt throne dynasty army siege monk merchant guild archive kingdom crown colony peasant palace republic chronicle sword temple migration",
    }.items()
}
