"""Everyday English words, the common ones first, and names: what the tokenizer of a random model is trained on."""

WORDS = """
the of and to in a is that for it was as with be by on not he his but at are this have from or had an they which one
you were all her she there would their we him been has when who will no more if out so up said what its about than
into them can only other time new some could these two may first then do any like my now over such our man me even
most made after also did many off before must well back through years much where your way down should because long
each just state those people too mister how little good world make very year still see own work men day get here old
between both life being under three never know same last another while us might great go since come right three used
take house use against school place himself few high again home small found thought went say part once general upon
every does got united left number course war until always away something fact though water less public put think
almost hand enough far took head yet better set told nothing night end why called eyes find going look asked later
knew point next program city business give group toward young days let room within side social given order often
national several second face possible rather per form important things large big among case early john power country
open thing white best least interest want members development family area mind god door light service certain problem
different began whole human line cost death four seemed help local past free body body's church line law car name
money book age company level history street music river town north south east west island bridge building university
college airport station restaurant pub coffee shop food price range rating customer kids family friendly cheap
moderate expensive average riverside centre near located serves serving offers called French Italian Chinese Japanese
English Indian fast menu meal dinner breakfast lunch wine beer tea bread cheese fish meat fruit vegetable pizza pasta
sushi burger kitchen cook table chair born died birth place death date nationality occupation spouse child parent
father mother brother sister son daughter leader president minister mayor king queen governor senator judge lawyer
doctor nurse teacher student professor writer author poet artist painter singer actor director producer engineer
scientist pilot astronaut soldier officer player footballer coach team club league season game match goal score win
won lose lost draw champion cup medal stadium capital region county district province village population area height
length width elevation metres kilometres miles square runway runways architect architectural style constructed
completed opened owner operator tenant founded founder location headquarters industry product revenue employee album
song band genre label record release released track film series episode character creator publisher page novel
magazine newspaper language spoken ethnic groups currency january february march april may june july august september
october november december monday tuesday wednesday thursday friday saturday sunday spring summer autumn winter morning
afternoon evening week month century hour minute one two three four five six seven eight nine ten eleven twelve twenty
thirty forty fifty hundred thousand million billion percent red orange yellow green blue purple black brown grey gold
silver dark bright warm cold hot cool dry wet hard soft heavy quick slow loud quiet strong weak rich poor happy sad
angry afraid kind clever careful ready busy alone together easy difficult simple complex true false real clear full
empty clean dirty safe dangerous short tall thin thick deep wide narrow round flat straight sharp fresh sweet bitter
salt sugar apple tree flower grass leaf garden farm field forest mountain hill valley lake sea ocean beach coast sand
stone rock earth sky sun moon star cloud rain snow wind storm fire ice animal dog cat horse cow pig sheep bird chicken
duck mouse bear wolf fox lion tiger elephant insect bee butterfly train bus truck ship boat plane bicycle road path
park market bank hospital library museum theatre office factory hotel castle palace tower wall window roof floor
stairs bed lamp clock phone computer radio television camera picture paper pen letter word sentence story question
answer idea reason example result effect cause change increase decrease growth system process method model theory
research study test data information knowledge science nature energy force pressure temperature weight speed distance
size shape colour sound voice noise silence touch smell taste feel feeling love hate hope fear joy anger surprise
dream sleep wake rest sit stand walk run jump climb fall swim fly drive ride carry hold pull push throw catch hit cut
break build fix paint draw write read speak talk listen hear watch show hide seek bring send receive keep lose buy
sell pay spend save earn share borrow lend teach learn remember forget understand believe doubt decide choose try fail
succeed start finish stop continue begin follow lead join leave arrive return visit stay live die grow develop improve
produce create design discover invent explore travel move turn close allow prevent protect attack defend fight kill
agree refuse accept offer promise thank welcome invite meet greet smile laugh cry shout whisper sing dance play wear
wash dress eat drink bake boil serve taste order government policy election vote party member council committee court
crime police prison army navy peace treaty border trade export import tax budget economy market industry bank loan
debt profit loss stock share price value quality quantity amount total rate average medical health disease patient
treatment medicine drug hospital surgery virus cell blood heart brain bone skin muscle space rocket launch mission
orbit satellite planet crew backup nasa shuttle moon landing test retired selected served award prize honour title
degree school education graduate academic staff campus affiliation established motto dean ingredient dish main
variation soup sauce rice bean potato tomato onion garlic pepper oil butter cream milk egg chocolate class order genus
species division kingdom conservation status engine body manufacturer assembly layout transmission wheelbase related
predecessor successor model ground manager chairman position draft pick debut round caps goals
"""

NAMES = """
John Mary James Anna William Elizabeth George Sarah Robert Margaret Charles Emma Thomas Alice Henry Laura Peter Julia
Paul Martin David Michael Daniel Joseph Alexander Richard Edward Alan Frank Albert Maria Carlos Juan Antonio Luis
Jorge Ivan Hans Karl Pierre Jean Marie Ali Ahmed Mohammed Lee Kim Park Chen Wang Li Singh Kumar Smith Jones Brown
Taylor Wilson Johnson Williams Miller Davis Anderson Clark Lewis Walker Hall Young Allen Wright Scott Green Baker
Adams Nelson Hill Campbell Mitchell Roberts Carter Phillips Evans Turner Parker Collins Edwards Stewart Morris Murphy
Cook Rogers Morgan Cooper Bell Bailey Kelly Howard Ward Cox Richardson Wood Watson Brooks Bennett Gray Hughes Price
Myers Foster Russell Griffin Hayes Bean Wheeler London Paris Berlin Madrid Rome Vienna Athens Moscow Tokyo Beijing
Delhi Mumbai Sydney Melbourne Toronto Montreal Chicago Boston Houston Dallas Texas California Florida Virginia
Washington York Jersey Carolina Georgia Ohio Michigan Illinois Indiana Pennsylvania Massachusetts Alabama Tennessee
Kentucky Missouri Oklahoma Kansas Nebraska Iowa Minnesota Wisconsin Colorado Arizona Nevada Utah Oregon Alaska Hawaii
Manchester Liverpool Birmingham Cambridge Oxford Edinburgh Glasgow Dublin Belfast Cardiff Brussels Amsterdam
Copenhagen Stockholm Oslo Helsinki Warsaw Prague Budapest Bucharest Lisbon Barcelona Valencia Milan Naples Turin
Florence Venice Munich Hamburg Frankfurt Cologne Zurich Geneva Istanbul Cairo Lagos Nairobi Singapore Bangkok Jakarta
Manila Seoul Shanghai Lima Bogota Santiago Buenos Aires Rio Janeiro Sao Paulo Mexico Havana England Scotland Wales
Ireland Britain France Germany Spain Italy Portugal Greece Turkey Russia Poland Austria Hungary Romania Bulgaria
Serbia Croatia Denmark Sweden Norway Finland Iceland Netherlands Belgium Switzerland Ukraine America Canada Brazil
Argentina Chile Peru Colombia Venezuela Ecuador Cuba China Japan India Pakistan Bangladesh Indonesia Malaysia Thailand
Vietnam Philippines Korea Australia Zealand Africa Egypt Nigeria Kenya Ethiopia Morocco Algeria Iran Iraq Israel Syria
Lebanon Arabia Asia Europe Atlantic Pacific Mediterranean United States Kingdom Republic Federal European American
British German Spanish Russian Dutch Swedish Danish Greek Turkish Polish Mexican Brazilian Canadian Australian African
Asian Muslim Christian Catholic Jewish Saint San Los Santa Las El La Le De Van Von Der Mac Fort Mount Port Bay Cape
Lake Grand Royal Great Plaza Hotel Inn Arms Mill Crown Tavern Bistro Cafe Palace Square Street Avenue Road House Tower
Gardens Stadium Arena Cathedral Museum Institute Company Corporation Limited Group Records Studios Press Entertainment
Marvel Comics Apollo NASA USA UK UEFA FIFA FC AC RC AFC BBC Serie League Division Championship Olympic Champions
Premier World War Battle Army Air Force Navy
"""
