"""Texts to try a tokenizer on, all written for this purpose.

They are ten sentences with the same meaning in each language (parity), samples of several kinds of text
(domains), and texts that are hard to tokenize.
"""

#: Shown token by token.
SENTENCES = (
    "The monster approached with terrifying deliberation.",
    "Victor felt overwhelming remorse for his creation.",
    "The desolate landscape stretched endlessly before them.",
)

#: Texts that are hard to tokenize, by name.
HARD = {
    "phone number": "123-456-7890",
    "URL": "https://example.com/path?query=value",
    "Chinese": "未来世界",
    "long word": "supercalifragilisticexpialidocious",
    "long digits": "3141592653589793238462643383279502884197",
    "base64": "bWVyZ2Fuc2VyOiBhIGR1Y2sgdGhhdCBkaXZlcw==",
    "emoji with skin tones": "👋🏻👋🏽👋🏿 👍🏾",
    "zero-width joiners": "👩\u200d🚀👨\u200d👩\u200d👧\u200d👦 می\u200cخواهم",
    "mixed scripts": "Привет world, 你好 and שלום 2024!",
    "white space": "a\tb  c    d\r\n\u00a0e",
    "hostile text": "<script>alert(1)</script>\u202etxt.exe\u202c\x1b[31m\x00",
}

#: The same ten sentences in every language, for parity.
PARALLEL = {
    "English": (
        "The river was high this morning, and the old bridge was closed.",
        "My sister teaches mathematics at a small school near the harbour.",
        "Can you tell me when the next train to the city leaves?",
        "We planted three apple trees behind the house last autumn.",
        "He read the letter twice before he understood it.",
        "The soup needs more salt, but please no pepper.",
        "Nobody knows exactly how many birds live on the island.",
        "If it rains tomorrow, we will meet in the library.",
        "She repaired the clock with a small tool and much patience.",
        "Thank you for your help; I have found my keys.",
    ),
    "German": (
        "Der Fluss stand heute Morgen hoch, und die alte Brücke war gesperrt.",
        "Meine Schwester unterrichtet Mathematik an einer kleinen Schule am Hafen.",
        "Können Sie mir sagen, wann der nächste Zug in die Stadt fährt?",
        "Letzten Herbst haben wir hinter dem Haus drei Apfelbäume gepflanzt.",
        "Er las den Brief zweimal, bevor er ihn verstand.",
        "Die Suppe braucht mehr Salz, aber bitte keinen Pfeffer.",
        "Niemand weiß genau, wie viele Vögel auf der Insel leben.",
        "Wenn es morgen regnet, treffen wir uns in der Bibliothek.",
        "Sie reparierte die Uhr mit einem kleinen Werkzeug und viel Geduld.",
        "Danke für Ihre Hilfe; ich habe meine Schlüssel gefunden.",
    ),
    "French": (
        "La rivière était haute ce matin, et le vieux pont était fermé.",
        "Ma sœur enseigne les mathématiques dans une petite école près du port.",
        "Pouvez-vous me dire quand part le prochain train pour la ville ?",
        "L'automne dernier, nous avons planté trois pommiers derrière la maison.",
        "Il a lu la lettre deux fois avant de la comprendre.",
        "La soupe manque de sel, mais pas de poivre, s'il vous plaît.",
        "Personne ne sait exactement combien d'oiseaux vivent sur l'île.",
        "S'il pleut demain, nous nous retrouverons à la bibliothèque.",
        "Elle a réparé l'horloge avec un petit outil et beaucoup de patience.",
        "Merci de votre aide ; j'ai retrouvé mes clés.",
    ),
    "Spanish": (
        "El río estaba alto esta mañana y el viejo puente estaba cerrado.",
        "Mi hermana enseña matemáticas en una pequeña escuela cerca del puerto.",
        "¿Puede decirme cuándo sale el próximo tren a la ciudad?",
        "El otoño pasado plantamos tres manzanos detrás de la casa.",
        "Leyó la carta dos veces antes de entenderla.",
        "La sopa necesita más sal, pero sin pimienta, por favor.",
        "Nadie sabe exactamente cuántos pájaros viven en la isla.",
        "Si mañana llueve, nos encontraremos en la biblioteca.",
        "Reparó el reloj con una pequeña herramienta y mucha paciencia.",
        "Gracias por su ayuda; he encontrado mis llaves.",
    ),
    "Turkish": (
        "Bu sabah nehir yüksekti ve eski köprü kapalıydı.",
        "Kız kardeşim limanın yakınındaki küçük bir okulda matematik öğretiyor.",
        "Şehre giden bir sonraki trenin ne zaman kalkacağını söyler misiniz?",
        "Geçen sonbaharda evin arkasına üç elma ağacı diktik.",
        "Mektubu anlayana kadar iki kez okudu.",
        "Çorbanın biraz daha tuza ihtiyacı var, ama lütfen biber koymayın.",
        "Adada tam olarak kaç kuş yaşadığını kimse bilmiyor.",
        "Yarın yağmur yağarsa kütüphanede buluşacağız.",
        "Saati küçük bir alet ve büyük bir sabırla onardı.",
        "Yardımınız için teşekkürler; anahtarlarımı buldum.",
    ),
    "Russian": (
        "Сегодня утром река поднялась высоко, и старый мост был закрыт.",
        "Моя сестра преподаёт математику в маленькой школе у гавани.",
        "Вы не скажете, когда отправляется следующий поезд в город?",
        "Прошлой осенью мы посадили за домом три яблони.",
        "Он прочитал письмо дважды, прежде чем понял его.",
        "В суп нужно добавить соли, но, пожалуйста, без перца.",
        "Никто точно не знает, сколько птиц живёт на острове.",
        "Если завтра пойдёт дождь, мы встретимся в библиотеке.",
        "Она починила часы маленьким инструментом и с большим терпением.",
        "Спасибо за помощь; я нашёл свои ключи.",
    ),
    "Arabic": (
        "كان النهر مرتفعا هذا الصباح، وكان الجسر القديم مغلقا.",
        "تدرّس أختي الرياضيات في مدرسة صغيرة قرب الميناء.",
        "هل يمكنك أن تخبرني متى يغادر القطار التالي إلى المدينة؟",
        "زرعنا ثلاث أشجار تفاح خلف البيت في الخريف الماضي.",
        "قرأ الرسالة مرتين قبل أن يفهمها.",
        "يحتاج الحساء إلى مزيد من الملح، لكن بلا فلفل من فضلك.",
        "لا أحد يعرف بالضبط كم طائرا يعيش في الجزيرة.",
        "إذا أمطرت غدا فسوف نلتقي في المكتبة.",
        "أصلحت الساعة بأداة صغيرة وكثير من الصبر.",
        "شكرا على مساعدتك؛ لقد وجدت مفاتيحي.",
    ),
    "Hindi": (
        "आज सुबह नदी में पानी ऊँचा था और पुराना पुल बंद था।",
        "मेरी बहन बंदरगाह के पास एक छोटे स्कूल में गणित पढ़ाती है।",
        "क्या आप बता सकते हैं कि शहर जाने वाली अगली रेलगाड़ी कब चलेगी?",
        "पिछले पतझड़ में हमने घर के पीछे सेब के तीन पेड़ लगाए।",
        "उसने पत्र को समझने से पहले दो बार पढ़ा।",
        "सूप में और नमक चाहिए, पर कृपया काली मिर्च नहीं।",
        "कोई ठीक से नहीं जानता कि द्वीप पर कितने पक्षी रहते हैं।",
        "अगर कल बारिश हुई तो हम पुस्तकालय में मिलेंगे।",
        "उसने एक छोटे औज़ार और बहुत धैर्य से घड़ी ठीक की।",
        "आपकी मदद के लिए धन्यवाद; मुझे अपनी चाबियाँ मिल गई हैं।",
    ),
    "Chinese": (
        "今天早上河水很高，旧桥已经关闭。",
        "我姐姐在港口附近的一所小学校教数学。",
        "您能告诉我下一班去城里的火车什么时候开吗？",
        "去年秋天我们在房子后面种了三棵苹果树。",
        "他把信读了两遍才看懂。",
        "这汤还需要一点盐，但请不要放胡椒。",
        "没有人确切知道岛上有多少只鸟。",
        "如果明天下雨，我们就在图书馆见面。",
        "她用一件小工具和很大的耐心修好了钟。",
        "谢谢你的帮助；我找到了我的钥匙。",
    ),
    "Japanese": (
        "今朝は川の水位が高く、古い橋は閉鎖されていました。",
        "私の姉は港の近くの小さな学校で数学を教えています。",
        "町へ行く次の列車がいつ出るか教えていただけますか？",
        "去年の秋、私たちは家の裏にりんごの木を三本植えました。",
        "彼は手紙を二度読んで、やっと理解しました。",
        "スープにはもう少し塩が必要ですが、胡椒は入れないでください。",
        "その島に何羽の鳥がいるのか、正確に知っている人はいません。",
        "明日雨が降ったら、図書館で会いましょう。",
        "彼女は小さな道具とたいへんな忍耐で時計を直しました。",
        "手伝ってくれてありがとう。鍵が見つかりました。",
    ),
}

_PROSE = (
    "The ferry was late, as it always was when the wind came from the north. Anna put her bag on the wall, "
    "sat down beside it and watched the boats go up and down. A boy was selling apples from a basket; nobody "
    "wanted any, and he did not seem to mind. At last a thin line of smoke appeared behind the lighthouse. "
    "People who had been quarrelling a moment ago fell silent, picked up their parcels and began to look "
    "for their tickets, as if the whole morning had been nothing but a pause between two sentences."
)
_CODE = '''\
def longest_run(values: list[int]) -> tuple[int, int]:
    """Where the longest run of equal values begins, and how long it is."""
    best_start, best_length = 0, 0
    start = 0
    for index in range(1, len(values) + 1):
        if index == len(values) or values[index] != values[start]:
            if index - start > best_length:
                best_start, best_length = start, index - start
            start = index
    return best_start, best_length


class Stack:
    def __init__(self) -> None:
        self._items: list[object] = []

    def push(self, item: object) -> None:
        self._items.append(item)

    def pop(self) -> object:
        if not self._items:
            raise IndexError("the stack is empty")
        return self._items.pop()
'''
_NUMBERS = (
    "7 42 365 1024 8191 65536 299792458 6.02214076e23 3.14159265 -273.15 0.001 1/3 50% 1,000,000 "
    "2026-11-16 23:59:59 192.168.0.1 0xDEADBEEF +49 30 901820 4111 1111 1111 1111 $19.99 12.5 kg"
)
_URLS = (
    "https://example.com/path?query=value https://www.example.org/articles/2026/11/16/how-to-count-birds "
    "http://localhost:8080/api/v1/users/42/settings?tab=profile&lang=en#top "
    "https://cdn.example.net/assets/app.3f9a1c.min.js ftp://files.example.com/pub/README.txt "
    "mailto:someone@example.com https://example.com/search?q=%E4%B8%96%E7%95%8C&page=2"
)

#: A short text of each kind, to compare domains; other languages come from PARALLEL.
PROSE = "English prose"
DOMAINS = {PROSE: _PROSE, "Python code": _CODE, "numbers": _NUMBERS, "URLs": _URLS}
