var xy=Object.defineProperty;var Li=(t,e)=>{for(var r in e)xy(t,r,{get:e[r],enumerable:!0})};var y=class extends Error{name="UserError";exitCode=1},hn=class extends y{name="UsageError";exitCode=2},K=class extends y{name="FormatError";path;offsetBytes;constructor(e,r){let o=r.place??(r.offsetBytes===void 0?void 0:`byte ${r.offsetBytes}`);super(`Cannot read ${r.path}${o?` at ${o}`:""}: ${e}`,{cause:r.cause}),this.path=r.path,this.offsetBytes=r.offsetBytes}},Fe=class extends hn{name="ConfigError";keyPath;constructor(e,r,o){super(`Cannot use config key ${e}: ${r}`,o),this.keyPath=e}},q=class extends Error{name="KernelError";kernel;line;file;constructor(e,r,o,n=e){let s=n===e?"":` of ${n}.wgsl`;super(`Cannot use kernel ${e}${o===void 0?"":` (line ${o}${s})`}: ${r}`),this.kernel=e,this.line=o,this.file=n}},Wr=class extends y{signal;name;exitCode;constructor(e){super(`stopped by ${e}; run the same command again to continue`),this.signal=e,this.name="InterruptedError",this.exitCode=e==="SIGINT"?130:75}};function b(t,e){if(!t)throw new Error(`Internal error: ${e}`)}function L(t,e){let r=t.get(e);return b(r!==void 0,`there is no ${e}`),r}function mn(t,e=80){return t.length<=e?t:`${t.slice(0,e-1)}\u2026`}var Ci=2,_A={format:"pt",format_version:String(Ci)},Xu="wpe.",yy="address_embed.";function Di(t,e){let r=Number(t??1);if(!(Number.isInteger(r)&&r>=1&&r<=Ci))throw new y(`Cannot read ${e}: found format version ${t}, expected 1 to ${Ci}; use the version of the program that wrote it`)}function Qu(t,e,r){if(Di(e,r),Number(e??1)>1)return new Map(t);let o=n=>n.startsWith(Xu)?yy+n.slice(Xu.length):n;return new Map([...t].map(([n,s])=>[o(n),s]))}var $={};Li($,{BIGINT_FORMAT_RANGES:()=>xn,CONSTANT_CATCH:()=>fl,Class:()=>Zi,NUMBER_FORMAT_RANGES:()=>Qr,aborted:()=>Ee,allowsEval:()=>Ki,assert:()=>Ey,assertEqual:()=>by,assertIs:()=>Sy,assertNever:()=>ky,assertNotEqual:()=>vy,assignProp:()=>Ie,attachSchema:()=>eo,base64ToUint8Array:()=>ul,base64urlToUint8Array:()=>jy,cached:()=>Yr,captureStackTrace:()=>wn,cleanEnum:()=>Fy,cleanRegex:()=>Jr,clone:()=>Re,cloneDef:()=>zy,codePointLength:()=>to,constantCatch:()=>dl,createTransparentProxy:()=>Ry,defineLazy:()=>rl,defineLazyInternal:()=>B,derived:()=>Vy,esc:()=>ji,escapeRegex:()=>gt,explicitlyAborted:()=>Wi,extend:()=>Cy,finalizeIssue:()=>He,floatSafeRemainder:()=>Fi,getElementAtPath:()=>Oy,getEnumValues:()=>mr,getLengthableOrigin:()=>ro,getParsedType:()=>Iy,getSizableOrigin:()=>cl,hexToUint8Array:()=>Ky,hide:()=>vn,installLazyProp:()=>Xy,isObject:()=>hr,isPlainObject:()=>Pt,issue:()=>wr,joinValues:()=>gn,jsonStringifyReplacer:()=>gr,members:()=>Ji,merge:()=>By,mergeDefs:()=>mt,normalizeParams:()=>z,nullish:()=>qi,numKeys:()=>Py,objectClone:()=>Ay,omit:()=>Ly,optionalKeys:()=>Vi,own:()=>$t,parsedType:()=>Yi,partial:()=>Uy,pick:()=>Ny,prefixIssues:()=>je,primitiveTypes:()=>il,promiseAllObject:()=>My,propertyKeyTypes:()=>Gi,randomString:()=>$y,rawShape:()=>Xr,required:()=>Zy,safeExtend:()=>Dy,shallowClone:()=>sl,sizeCaps:()=>bn,slugify:()=>Hi,stringifyPrimitive:()=>_n,toZod:()=>tl,uint8ArrayToBase64:()=>ll,uint8ArrayToBase64url:()=>Hy,uint8ArrayToHex:()=>Gy,unwrapMessage:()=>pr});function by(t){return t}function vy(t){return t}function tl(){return t=>t}function Sy(t){}function ky(t){throw new Error("Unexpected value in exhaustive check")}function Ey(t){}function mr(t){let e=Object.values(t).filter(o=>typeof o=="number");return Object.entries(t).filter(([o,n])=>e.indexOf(+o)===-1).map(([o,n])=>n)}function gn(t,e="|"){return t.map(r=>_n(r)).join(e)}function gr(t,e){return typeof e=="bigint"?e.toString():e}var Ui=class{constructor(e){this._getter=e,this._value=void 0}get value(){let e=this._getter;return e!==void 0&&(this._value=e(),this._getter=void 0),this._value}};function Yr(t){return new Ui(t)}function qi(t){return t==null}function Jr(t){let e=t.startsWith("^")?1:0,r=t.endsWith("$")?t.length-1:t.length;return t.slice(e,r)}function Fi(t,e){let r=t/e,o=Math.round(r),n=4*Number.EPSILON*Math.max(Math.abs(r),1);return Math.abs(r-o)<n?0:r-o}var el=Symbol("evaluating");function rl(t,e,r){let o;Object.defineProperty(t,e,{get(){if(o!==el)return o===void 0&&(o=el,o=r()),o},set(n){Object.defineProperty(t,e,{value:n})},configurable:!0})}function Ay(t){return Object.create(Object.getPrototypeOf(t),Object.getOwnPropertyDescriptors(t))}function Ie(t,e,r){Object.defineProperty(t,e,{value:r,writable:!0,enumerable:!0,configurable:!0})}function Xr(t){let e=Object.getOwnPropertyDescriptor(t,"shape");return e?.get?e.get.raw:e?.value}function ht(t){return Xr(t._zod.def)??t._zod.def.shape}function ol(t,e,r){Object.defineProperty(t,e,{get(){let o=r();return Ie(this,e,o),o},enumerable:!0,configurable:!0})}function nl(t,e,r){e in t?Ie(t,e,r):t[e]=r}function jt(t,e,r,o){let n=ht(e);for(let s of r){let i=Object.getOwnPropertyDescriptor(n,s);i.enumerable&&(i.get?ol(t,s,()=>{let a=e._zod.def.shape[s];return o?o(a,s):a}):nl(t,s,o?o(i.value,s):i.value))}}function Ty(t,e){for(let r of Reflect.ownKeys(e)){let o=Object.getOwnPropertyDescriptor(e,r);o.enumerable&&(o.get?ol(t,r,()=>e[r]):nl(t,r,o.value))}}function mt(...t){let e={};for(let r of t){let o=Object.getOwnPropertyDescriptors(r);Object.assign(e,o)}return Object.defineProperties({},e)}function zy(t){return mt(t._zod.def)}function Oy(t,e){return e?e.reduce((r,o)=>r?.[o],t):t}function My(t){let e=Object.keys(t),r=e.map(o=>t[o]);return Promise.all(r).then(o=>{let n={};for(let s=0;s<e.length;s++)n[e[s]]=o[s];return n})}function $y(t=10){let e="abcdefghijklmnopqrstuvwxyz",r="";for(let o=0;o<t;o++)r+=e[Math.floor(Math.random()*e.length)];return r}function ji(t){return JSON.stringify(t)}function Hi(t){return t.toLowerCase().trim().replace(/[^\w\s-]/g,"").replace(/[\s_-]+/g,"-").replace(/^-+|-+$/g,"")}var wn="captureStackTrace"in Error?Error.captureStackTrace:(...t)=>{};function hr(t){return typeof t=="object"&&t!==null&&!Array.isArray(t)}var Ki=Yr(()=>{if(me.jitless||typeof navigator<"u"&&navigator?.userAgent?.includes("Cloudflare"))return!1;try{let t=Function;return new t(""),!0}catch{return!1}});function Pt(t){if(hr(t)===!1)return!1;let e=t.constructor;if(e===void 0||typeof e!="function")return!0;let r=e.prototype;return!(hr(r)===!1||Object.prototype.hasOwnProperty.call(r,"isPrototypeOf")===!1)}function sl(t){return Pt(t)?{...t}:Array.isArray(t)?[...t]:t instanceof Map?new Map(t):t instanceof Set?new Set(t):t}function Py(t){let e=0;for(let r in t)Object.prototype.hasOwnProperty.call(t,r)&&e++;return e}var Iy=t=>{let e=typeof t;switch(e){case"undefined":return"undefined";case"string":return"string";case"number":return Number.isNaN(t)?"nan":"number";case"boolean":return"boolean";case"function":return"function";case"bigint":return"bigint";case"symbol":return"symbol";case"object":return Array.isArray(t)?"array":t===null?"null":t.then&&typeof t.then=="function"&&t.catch&&typeof t.catch=="function"?"promise":typeof Map<"u"&&t instanceof Map?"map":typeof Set<"u"&&t instanceof Set?"set":typeof Date<"u"&&t instanceof Date?"date":typeof File<"u"&&t instanceof File?"file":"object";default:throw new Error(`Unknown data type: ${e}`)}},Gi=new Set(["string","number","symbol"]),il=new Set(["string","number","bigint","boolean","symbol","undefined"]);function gt(t){return t.replace(/[.*+?^${}()|[\]\\]/g,"\\$&")}function Re(t,e,r){let o=new t._zod.constr(e??t._zod.def);return(!e||r?.parent)&&(o._zod.parent=t),o}function z(t){let e=t;if(!e)return{};if(typeof e=="string")return{error:()=>e};if(e?.message!==void 0){if(e?.error!==void 0)throw new Error("Cannot specify both `message` and `error` params");e.error=e.message}return delete e.message,typeof e.error=="string"?{...e,error:()=>e.error}:e}function Ry(t){let e;return new Proxy({},{get(r,o,n){return e??(e=t()),Reflect.get(e,o,n)},set(r,o,n,s){return e??(e=t()),Reflect.set(e,o,n,s)},has(r,o){return e??(e=t()),Reflect.has(e,o)},deleteProperty(r,o){return e??(e=t()),Reflect.deleteProperty(e,o)},ownKeys(r){return e??(e=t()),Reflect.ownKeys(e)},getOwnPropertyDescriptor(r,o){return e??(e=t()),Reflect.getOwnPropertyDescriptor(e,o)},defineProperty(r,o,n){return e??(e=t()),Reflect.defineProperty(e,o,n)}})}function _n(t){return typeof t=="bigint"?t.toString()+"n":typeof t=="string"?`"${t}"`:`${t}`}function Vi(t){return Object.keys(t).filter(e=>t[e]._zod.optin!==void 0&&t[e]._zod.optout==="optional")}var Qr={safeint:[Number.MIN_SAFE_INTEGER,Number.MAX_SAFE_INTEGER],int32:[-2147483648,2147483647],uint32:[0,4294967295],float32:[-34028234663852886e22,34028234663852886e22],float64:[-Number.MAX_VALUE,Number.MAX_VALUE]},xn={int64:[BigInt("-9223372036854775808"),BigInt("9223372036854775807")],uint64:[BigInt(0),BigInt("18446744073709551615")]};function Ny(t,e){let r=t._zod.def,o=r.checks;if(o&&o.length>0)throw new Error(".pick() cannot be used on object schemas containing refinements");let s={};return jt(s,t,yn(t,e)),Re(t,mt(r,{shape:s,checks:[]}))}function yn(t,e){let r=ht(t),o=[];for(let n of Reflect.ownKeys(e)){if(!Object.getOwnPropertyDescriptor(r,n)?.enumerable)throw new Error(`Unrecognized key: "${String(n)}"`);e[n]&&o.push(n)}return o}function Ly(t,e){let r=t._zod.def,o=r.checks;if(o&&o.length>0)throw new Error(".omit() cannot be used on object schemas containing refinements");let s=new Set(yn(t,e)),i={};return jt(i,t,Reflect.ownKeys(ht(t)).filter(a=>!s.has(a))),Re(t,mt(r,{shape:i,checks:[]}))}function Cy(t,e){if(!Pt(e))throw new Error("Invalid input to extend: expected a plain object");let r=t._zod.def.checks;if(r&&r.length>0){let n=ht(t);for(let s of Reflect.ownKeys(e))if(Object.getOwnPropertyDescriptor(n,s)!==void 0)throw new Error("Cannot overwrite keys on object schemas containing refinements. Use `.safeExtend()` instead.")}return Re(t,mt(t._zod.def,{shape:al(t,e)}))}function al(t,e){let r={};return jt(r,t,Reflect.ownKeys(ht(t))),Ty(r,e),r}function Dy(t,e){if(!Pt(e))throw new Error("Invalid input to safeExtend: expected a plain object");return Re(t,mt(t._zod.def,{shape:al(t,e)}))}function By(t,e){if(!e?._zod?.def)throw new Error("Invalid input to merge: expected an object schema. To merge a plain shape, use `.extend()`.");if(t._zod.def.checks?.length)throw new Error(".merge() cannot be used on object schemas containing refinements. Use .safeExtend() instead.");let r={};jt(r,t,Reflect.ownKeys(ht(t))),jt(r,e,Reflect.ownKeys(ht(e)));let o=mt(t._zod.def,{shape:r,get catchall(){return e._zod.def.catchall},checks:e._zod.def.checks??[]});return Re(t,o)}function Uy(t,e,r,o="partial"){let s=e._zod.def.checks;if(s&&s.length>0)throw new Error(`.${o}() cannot be used on object schemas containing refinements`);let a=r?new Set(yn(e,r)):void 0,c={};return jt(c,e,Reflect.ownKeys(ht(e)),t&&((u,l)=>a&&!a.has(l)?u:new t({type:"optional",innerType:u}))),Re(e,mt(e._zod.def,{shape:c,checks:[]}))}function Zy(t,e,r){let o=r?new Set(yn(e,r)):void 0,n={};return jt(n,e,Reflect.ownKeys(ht(e)),(s,i)=>o&&!o.has(i)?s:new t({type:"nonoptional",innerType:s})),Re(e,mt(e._zod.def,{shape:n}))}function Ee(t,e=0){if(t.aborted===!0)return!0;for(let r=e;r<t.issues.length;r++)if(t.issues[r]?.continue!==!0)return!0;return!1}function Wi(t,e=0){if(t.aborted===!0)return!0;for(let r=e;r<t.issues.length;r++)if(t.issues[r]?.continue===!1)return!0;return!1}function je(t,e){return e.map(r=>{var o;return(o=r).path??(o.path=[]),r.path.unshift(t),r})}function pr(t){return typeof t=="string"?t:t?.message}function bn(t){let e=[];for(let r of t??[]){let o=r._zod.def;if(!/_(length|size)$|_equals$/.test(o.check))break;let n=o.maximum??o.length??o.size;n>=0&&e.push([n,r])}return e}function eo(t,e,r){var o;for(let n=e;n<t.length;n++)(o=t[n]).schema??(o.schema=r)}function He(t,e,r){var o;let n=t.inst?._zod?.traits;n?.has("$ZodType")&&(n.has("$ZodCheck")?(o=t).schema??(o.schema=t.inst):t.schema=t.inst);let s=t.schema!==t.inst?t.schema?._zod.def?.error:void 0,i=t.message?t.message:pr(t.inst?._zod.def?.error?.(t))??pr(s?.(t))??pr(e?.error?.(t))??pr(r.customError?.(t))??pr(r.localeError?.(t))??"Invalid input",a={};for(let c of Object.keys(t))c==="inst"||c==="schema"||c==="continue"||c==="input"||c==="__proto__"||(a[c]=t[c]);return a.path??(a.path=[]),a.message=i,e?.reportInput&&(a.input=t.input),a}function cl(t){return t instanceof Set?"set":t instanceof Map?"map":t instanceof File?"file":"unknown"}var qy=/[\uD800-\uDBFF]/;function to(t){let e=t.length;if(!qy.test(t))return e;let r=e;for(let o=0;o<e-1;o++)(t.charCodeAt(o)&64512)===55296&&(t.charCodeAt(o+1)&64512)===56320&&(r--,o++);return r}function ro(t){return Array.isArray(t)?"array":typeof t=="string"?"string":"unknown"}function Yi(t){let e=typeof t;switch(e){case"number":return Number.isNaN(t)?"nan":"number";case"object":{if(t===null)return"null";if(Array.isArray(t))return"array";let r=t;if(r&&Object.getPrototypeOf(r)!==Object.prototype&&"constructor"in r&&r.constructor)return r.constructor.name}}return e}function wr(...t){let[e,r,o]=t;return typeof e=="string"?{message:e,code:"custom",input:r,inst:o}:{...e}}function Fy(t){return Object.entries(t).filter(([e,r])=>Number.isNaN(Number.parseInt(e,10))).map(e=>e[1])}function ul(t){let e=atob(t),r=new Uint8Array(e.length);for(let o=0;o<e.length;o++)r[o]=e.charCodeAt(o);return r}function ll(t){let e="";for(let r=0;r<t.length;r++)e+=String.fromCharCode(t[r]);return btoa(e)}function jy(t){let e=t.replace(/-/g,"+").replace(/_/g,"/"),r="=".repeat((4-e.length%4)%4);return ul(e+r)}function Hy(t){return ll(t).replace(/\+/g,"-").replace(/\//g,"_").replace(/=/g,"")}function Ky(t){let e=t.replace(/^0x/,"");if(e.length%2!==0)throw new Error("Invalid hex string length");let r=new Uint8Array(e.length/2);for(let o=0;o<e.length;o+=2)r[o/2]=Number.parseInt(e.slice(o,o+2),16);return r}function Gy(t){return Array.from(t).map(e=>e.toString(16).padStart(2,"0")).join("")}var Zi=class{constructor(...e){}};function Ji(t,e){for(let r in e){let o=Object.getOwnPropertyDescriptor(e,r);o.get?Object.defineProperty(t,r,{...o,enumerable:!1}):Wy(t,r,o.value)}}function $t(t,e,r,o=!0){return Object.defineProperty(t,e,{configurable:!0,writable:!0,enumerable:o,value:r}),r}function vn(t,e,r){return $t(t,e,r,!1)}function Vy(t,e){for(let r in t){let o=t[r];Object.defineProperty(e,r,{configurable:!0,enumerable:!0,get(){return $t(this,r,o(this))},set(n){$t(this,r,n)}})}return e}function Wy(t,e,r){Object.defineProperty(t,e,{configurable:!0,get(){return this==null?r:$t(this,e,r.bind(this))},set(o){$t(this,e,o)}})}function Yy(t,e){let r=Object.getPrototypeOf(t);return e in r?void 0:r}var Bi,Mt=!1,Jy={configurable:!0,get(){Mt=!0}};function B(t,e,r){let o=Object.getPrototypeOf(t._zod);if(e in o&&Bi!==t._zod){Bi=void 0;return}Bi=t._zod,Object.defineProperty(o,e,{configurable:!0,get(){Object.defineProperty(this,e,Jy);let n=Mt;Mt=!1;try{let s=r(this);return Mt?delete this[e]:Object.defineProperty(this,e,{configurable:!0,writable:!0,value:s}),Mt=Mt||n,s}catch(s){throw delete this[e],Mt=Mt||n,s}},set(n){Object.defineProperty(this,e,{configurable:!0,writable:!0,value:n})}})}function Xy(t,e,r,o){let n=Yy(t,e);n&&Object.defineProperty(n,e,{configurable:!0,get(){let s={configurable:!0,writable:!0,enumerable:o,value:void 0};return Object.defineProperty(this,e,s),s.value=r(this),Object.defineProperty(this,e,s),s.value},set(s){Object.defineProperty(this,e,{configurable:!0,writable:!0,enumerable:o,value:s})}})}var fl="~constantCatch";function dl(t){let e=()=>t;return e[fl]=!0,e}var pl;var Xi={value:void 0,enumerable:!1},hl="captureStackTrace"in Error?Error:null;function Qy(t){let e=hl;if(e){let r=e.stackTraceLimit;if(typeof r=="number"){try{e.stackTraceLimit=0}catch{return hl=null,new t}try{return new t}finally{e.stackTraceLimit=r}}}return new t}function x(t,e,r,o){let n={};function s(d){this.def=d,this.constr=f,this.traits=new Set}s.prototype=n;let i=r,a=i&&new WeakSet;function c(d,p){if(d._zod){if(d._zod.traits.has(t))return}else{Xi.value=new s(p);try{Object.defineProperty(d,"_zod",Xi)}finally{Xi.value=void 0}}if(d._zod.traits.add(t),e(d,p),a){let g=Object.getPrototypeOf(d),m=d._zod.constr.prototype,w=g;for(;w&&w!==m;)w=Object.getPrototypeOf(w);let _=w??g;a.has(_)||(a.add(_),Ji(_,i))}let h=f.prototype;for(let g in h)Object.prototype.hasOwnProperty.call(h,g)&&(g in d||(d[g]=h[g].bind(d)))}let u=o?.Parent??Object;class l extends u{}Object.defineProperty(l,"name",{value:t});function f(d){let p=o?.Parent?Qy(l):this;c(p,d);let h=p._zod.deferred;if(h){for(let m of h)m();p._zod.deferred=void 0}let g=globalThis.__zod_globalConfig?.postProcessor;return g&&g(p),p}return Object.defineProperty(f,"init",{value:c}),Object.defineProperty(f,Symbol.hasInstance,{value:d=>o?.Parent&&d instanceof o.Parent?!0:d?._zod?.traits?.has(t)}),Object.defineProperty(f,"name",{value:t}),f}var Ke=class extends Error{constructor(){super("Encountered Promise during synchronous parse. Use .parseAsync() instead.")}},_r=class extends Error{constructor(e){super(`Encountered unidirectional transform during encode: ${e}`),this.name="ZodEncodeError"}};(pl=globalThis).__zod_globalConfig??(pl.__zod_globalConfig={});var me=globalThis.__zod_globalConfig;function _e(t){return t&&Object.assign(me,t),me}function eb(){let t=this._zod;return t.message??(t.message=JSON.stringify(t.def,gr,2)),t.message}function tb(t){this._zod.message=t}var rb={get:eb,set:tb,enumerable:!0,configurable:!0},ea={value:void 0,enumerable:!1},ml=new WeakSet([Object.prototype,Error.prototype]),gl=(t,e)=>{t.name="$ZodError",ea.value=e,Object.defineProperty(t,"issues",ea),ea.value=void 0,Object.defineProperty(t,"message",rb);let r=Object.getPrototypeOf(t);ml.has(r)||(ml.add(r),Object.defineProperty(r,"toString",{configurable:!0,enumerable:!1,get(){let o=()=>this.message;return Object.defineProperty(this,"toString",{value:o,configurable:!0,writable:!0}),o},set(o){Object.defineProperty(this,"toString",{value:o,configurable:!0,writable:!0})}}))},wl=x("$ZodError",gl),SA=x("$ZodError",gl,void 0,{Parent:Error});function ob(t,e,r){return Object.prototype.hasOwnProperty.call(t,e)||(e==="__proto__"?Object.defineProperty(t,e,{value:r(),writable:!0,enumerable:!0,configurable:!0}):t[e]=r()),t[e]}function ta(t,e=r=>r.message){let r={},o=[];for(let n of t.issues)n.path.length>0?ob(r,n.path[0],()=>[]).push(e(n)):o.push(e(n));return{formErrors:o,fieldErrors:r}}function ra(t,e=r=>r.message){let r={_errors:[]},o=(n,s=[])=>{for(let i of n.issues)if(i.code==="invalid_union"&&i.errors.length)i.errors.map(a=>o({issues:a},[...s,...i.path]));else if(i.code==="invalid_key")o({issues:i.issues},[...s,...i.path]);else if(i.code==="invalid_element")o({issues:i.issues},[...s,...i.path]);else{let a=[...s,...i.path];if(a.length===0)r._errors.push(e(i));else{let c=r,u=0;for(;u<a.length;){let l=a[u],f=u===a.length-1;if(l==="_errors"){f&&c._errors.push(e(i)),u++;continue}Object.prototype.hasOwnProperty.call(c,l)||Object.defineProperty(c,l,{value:{_errors:[]},enumerable:!0,writable:!0,configurable:!0});let d=c[l];f&&d._errors.push(e(i)),c=d,u++}}}};return o(t),r}function Sn(t,e){return{callee:e?.callee??t,Err:e?.Err}}var kn=t=>{let e=(r,o,n,s)=>{let i=n?{...n,async:!1}:{async:!1},a=r._zod.run({value:o,issues:[]},i);if(a instanceof Promise)throw new Ke;if(a.issues.length){let c=new(s?.Err??t)(a.issues.map(u=>He(u,i,_e())));throw wn(c,s?.callee??e),c}return a.value};return e};var En=t=>{let e=async(r,o,n,s)=>{let i=n?{...n,async:!0}:{async:!0},a=r._zod.run({value:o,issues:[]},i);if(a instanceof Promise&&(a=await a),a.issues.length){let c=new(s?.Err??t)(a.issues.map(u=>He(u,i,_e())));throw wn(c,s?.callee??e),c}return a.value};return e};var An=t=>(e,r,o)=>{let n=o?{...o,async:!1}:{async:!1},s=e._zod.run({value:r,issues:[]},n);if(s instanceof Promise)throw new Ke;return s.issues.length?_l(t,s.issues,n):{success:!0,data:s.value}};function _l(t,e,r){let o;return{success:!1,get error(){return o||(o=new t(e.map(n=>He(n,r,_e()))),e=void 0,r=void 0),o},set error(n){o=n,e=void 0,r=void 0}}}var Tn=t=>async(e,r,o)=>{let n=o?{...o,async:!0}:{async:!0},s=e._zod.run({value:r,issues:[]},n);return s instanceof Promise&&(s=await s),s.issues.length?_l(t,s.issues,n):{success:!0,data:s.value}};var nb=Symbol.for("zod.compile.invalid"),sb=Symbol.for("zod.compile.fallback"),oa=(t,e,r)=>{let o=t._zod.bag.validator;if(o!==void 0){if(o(e)!==nb)return!0;if(o.definite===!0&&r===void 0)return!1}return ib(t,e,r)};function ib(t,e,r){let o=r?{...r,async:!1,abortEarly:!0}:{async:!1,abortEarly:!0},n=t._zod.bag.fallbackRun,s;if(n?(o[sb]=!0,s=n({value:e,issues:[]},o)):s=t._zod.run({value:e,issues:[]},o),s instanceof Promise)throw new Ke;return s.issues.length===0}var na=async(t,e,r)=>{let o=r?{...r,async:!0,abortEarly:!0}:{async:!0,abortEarly:!0},n=t._zod.run({value:e,issues:[]},o);return n instanceof Promise&&(n=await n),n.issues.length===0},xl=t=>{let e=kn(t),r=(o,n,s,i)=>{let a=s?{...s,direction:"backward"}:{direction:"backward"};return e(o,n,a,Sn(r,i))};return r};var yl=t=>{let e=kn(t),r=(o,n,s,i)=>e(o,n,s,Sn(r,i));return r};var bl=t=>{let e=En(t),r=async(o,n,s,i)=>{let a=s?{...s,direction:"backward"}:{direction:"backward"};return await e(o,n,a,Sn(r,i))};return r};var vl=t=>{let e=En(t),r=async(o,n,s,i)=>await e(o,n,s,Sn(r,i));return r};var Sl=t=>(e,r,o)=>{let n=o?{...o,direction:"backward"}:{direction:"backward"};return An(t)(e,r,n)};var kl=t=>(e,r,o)=>An(t)(e,r,o);var El=t=>async(e,r,o)=>{let n=o?{...o,direction:"backward"}:{direction:"backward"};return Tn(t)(e,r,n)};var Al=t=>async(e,r,o)=>Tn(t)(e,r,o);var Tl=/^[cC][0-9a-z]{6,}$/,zl=/^[0-9a-z]+$/,Ol=/^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$/,Ml=/^[0-9a-vA-V]{20}$/,$l=/^[A-Za-z0-9]{27}$/,Pl=/^[a-zA-Z0-9_-]{21}$/;function Il(t){return new RegExp(`^[a-zA-Z0-9_-]{${t}}$`)}var Rl=/^P(?:(\d+W)|(?!.*W)(?=\d|T\d)(\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+([.,]\d+)?S)?)?)$/;var Nl=/^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})$/,ia=t=>t?new RegExp(`^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-${t}[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12})$`):/^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}|00000000-0000-0000-0000-000000000000|ffffffff-ffff-ffff-ffff-ffffffffffff)$/;var Ll=/^(?:[A-Za-z0-9_'+\-]+\.)*[A-Za-z0-9_'+\-]*[A-Za-z0-9_+-]@(?:[A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$/;var ab="^(?=[\\s\\S]*[\\p{Extended_Pictographic}\\p{Regional_Indicator}\\u20E3])[\\p{Extended_Pictographic}\\p{Emoji_Component}]+$";function Cl(){return new RegExp(ab,"u")}var Dl=/^(?:(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\.){3}(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])$/,Bl=/^(([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,7}:|([0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,5}(:[0-9a-fA-F]{1,4}){1,2}|([0-9a-fA-F]{1,4}:){1,4}(:[0-9a-fA-F]{1,4}){1,3}|([0-9a-fA-F]{1,4}:){1,3}(:[0-9a-fA-F]{1,4}){1,4}|([0-9a-fA-F]{1,4}:){1,2}(:[0-9a-fA-F]{1,4}){1,5}|[0-9a-fA-F]{1,4}:((:[0-9a-fA-F]{1,4}){1,6})|:((:[0-9a-fA-F]{1,4}){1,7}|:))$/;var Ul=/^((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\/([0-9]|[1-2][0-9]|3[0-2])$/,Zl=/^(([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,7}:|([0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,5}(:[0-9a-fA-F]{1,4}){1,2}|([0-9a-fA-F]{1,4}:){1,4}(:[0-9a-fA-F]{1,4}){1,3}|([0-9a-fA-F]{1,4}:){1,3}(:[0-9a-fA-F]{1,4}){1,4}|([0-9a-fA-F]{1,4}:){1,2}(:[0-9a-fA-F]{1,4}){1,5}|[0-9a-fA-F]{1,4}:((:[0-9a-fA-F]{1,4}){1,6})|:((:[0-9a-fA-F]{1,4}){1,7}|:))\/(12[0-8]|1[01][0-9]|[1-9]?[0-9])$/,ql=/^$|^(?:[0-9a-zA-Z+/]{4})*(?:(?:[0-9a-zA-Z+/]{2}==)|(?:[0-9a-zA-Z+/]{3}=))?$/,Fl=/^(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-]{2,3})?$/;var jl=/^https?$/,Hl=/^\+[1-9]\d{6,14}$/;var Kl="(?:(?:\\d\\d[2468][048]|\\d\\d[13579][26]|\\d\\d0[48]|[02468][048]00|[13579][26]00)-02-29|\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|(?:02)-(?:0[1-9]|1\\d|2[0-8])))";function cb(t){return new RegExp(`^${t}$`)}var Gl=cb(Kl);function sa(t){let e="(?:[01]\\d|2[0-3]):[0-5]\\d";return typeof t.precision=="number"?t.precision===-1?`${e}`:t.precision===0?`${e}:[0-5]\\d`:`${e}:[0-5]\\d\\.\\d{${t.precision}}`:t.seconds?`${e}:[0-5]\\d(?:\\.\\d+)?`:`${e}(?::[0-5]\\d(?:\\.\\d+)?)?`}function Vl(t){return new RegExp(`^${sa(t)}$`)}function Wl(t){let e=["Z"];t.offset&&e.push("([+-](?:[01]\\d|2[0-3]):[0-5]\\d)");let r=`${sa({precision:t.precision,seconds:!0})}(?:${e.join("|")})`,o=t.local?`${r}|${sa({precision:t.precision})}`:r;return new RegExp(`^${Kl}T(?:${o})$`)}var Yl=/^[\s\S]{0,}$/;var Jl=/^-?\d+n?$/,aa=/^-?\d+$/,oo=/^-?\d+(?:\.\d+)?$/,Xl=/^(?:true|false)$/i;var Ql=/^[^A-Z]*$/,ef=/^[^a-z]*$/;var ce=x("$ZodCheck",(t,e)=>{var r;t._zod??(t._zod={}),t._zod.def=e,(r=t._zod).onattach??(r.onattach=[])});var ca=t=>{let e=t.value;return!qi(e)&&e.length!==void 0},zn={number:"number",bigint:"bigint",object:"date"},ua=x("$ZodCheckLessThan",(t,e)=>{ce.init(t,e);let r=zn[typeof e.value];t._zod.check=o=>{(e.inclusive?o.value<=e.value:o.value<e.value)||o.issues.push({origin:zn[typeof o.value]??r,code:"too_big",maximum:typeof e.value=="object"?e.value.getTime():e.value,input:o.value,inclusive:e.inclusive,inst:t,continue:!e.abort})}}),la=x("$ZodCheckGreaterThan",(t,e)=>{ce.init(t,e);let r=zn[typeof e.value];t._zod.check=o=>{(e.inclusive?o.value>=e.value:o.value>e.value)||o.issues.push({origin:zn[typeof o.value]??r,code:"too_small",minimum:typeof e.value=="object"?e.value.getTime():e.value,input:o.value,inclusive:e.inclusive,inst:t,continue:!e.abort})}}),tf=x("$ZodCheckMultipleOf",(t,e)=>{ce.init(t,e),t._zod.check=r=>{if(typeof r.value!=typeof e.value)throw new Error("Cannot mix number and bigint in multiple_of check.");(typeof r.value=="bigint"?e.value!==BigInt(0)&&r.value%e.value===BigInt(0):Fi(r.value,e.value)===0)||r.issues.push({origin:typeof r.value,code:"not_multiple_of",divisor:e.value,input:r.value,inst:t,continue:!e.abort})}}),rf=x("$ZodCheckNumberFormat",(t,e)=>{ce.init(t,e),e.format=e.format||"float64";let r=e.format?.includes("int"),o=r?"int":"number",[n,s]=Qr[e.format];t._zod.check=i=>{let a=i.value;if(r){if(!Number.isInteger(a)){i.issues.push({expected:o,format:e.format,code:"invalid_type",continue:!1,input:a,inst:t});return}if(!Number.isSafeInteger(a)){a>0?i.issues.push({input:a,code:"too_big",maximum:Number.MAX_SAFE_INTEGER,note:"Integers must be within the safe integer range.",inst:t,origin:o,inclusive:!0,continue:!e.abort}):i.issues.push({input:a,code:"too_small",minimum:Number.MIN_SAFE_INTEGER,note:"Integers must be within the safe integer range.",inst:t,origin:o,inclusive:!0,continue:!e.abort});return}}a<n&&i.issues.push({origin:"number",input:a,code:"too_small",minimum:n,inclusive:!0,inst:t,continue:!e.abort}),a>s&&i.issues.push({origin:"number",input:a,code:"too_big",maximum:s,inclusive:!0,inst:t,continue:!e.abort})}});var of=x("$ZodCheckMaxLength",(t,e)=>{var r;ce.init(t,e),(r=t._zod.def).when??(r.when=ca),t._zod.check=o=>{let n=o.value,s=n.length;if((typeof n=="string"&&s>e.maximum?to(n):s)<=e.maximum)return;let a=ro(n);o.issues.push({origin:a,code:"too_big",maximum:e.maximum,inclusive:!0,input:n,inst:t,continue:!e.abort})}}),nf=x("$ZodCheckMinLength",(t,e)=>{var r;ce.init(t,e),(r=t._zod.def).when??(r.when=ca),t._zod.check=o=>{let n=o.value,s=n.length;if((typeof n=="string"&&s>=e.minimum&&s<e.minimum*2?to(n):s)>=e.minimum)return;let a=ro(n);o.issues.push({origin:a,code:"too_small",minimum:e.minimum,inclusive:!0,input:n,inst:t,continue:!e.abort})}}),sf=x("$ZodCheckLengthEquals",(t,e)=>{var r;ce.init(t,e),(r=t._zod.def).when??(r.when=ca),t._zod.check=o=>{let n=o.value,s=n.length,i=typeof n=="string"&&s>=e.length&&s<=e.length*2?to(n):s;if(i===e.length)return;let a=ro(n),c=i>e.length;o.issues.push({origin:a,...c?{code:"too_big",maximum:e.length}:{code:"too_small",minimum:e.length},inclusive:!0,exact:!0,input:o.value,inst:t,continue:!e.abort})}}),no=x("$ZodCheckStringFormat",(t,e)=>{var r,o;ce.init(t,e),e.pattern?(r=t._zod).check??(r.check=n=>{e.pattern.lastIndex=0,!e.pattern.test(n.value)&&n.issues.push({origin:"string",code:"invalid_format",format:e.format,input:n.value,...e.pattern?{pattern:e.pattern.toString()}:{},inst:t,continue:!e.abort})}):(o=t._zod).check??(o.check=()=>{})}),af=x("$ZodCheckRegex",(t,e)=>{no.init(t,e),t._zod.check=r=>{e.pattern.lastIndex=0,!e.pattern.test(r.value)&&r.issues.push({origin:"string",code:"invalid_format",format:"regex",input:r.value,pattern:e.pattern.toString(),inst:t,continue:!e.abort})}}),cf=x("$ZodCheckLowerCase",(t,e)=>{e.pattern??(e.pattern=Ql),no.init(t,e)}),uf=x("$ZodCheckUpperCase",(t,e)=>{e.pattern??(e.pattern=ef),no.init(t,e)}),lf=x("$ZodCheckIncludes",(t,e)=>{ce.init(t,e);let r=gt(e.includes),o=new RegExp(typeof e.position=="number"?`^.{${e.position},}${r}`:r);e.pattern=o,t._zod.check=n=>{n.value.includes(e.includes,e.position)||n.issues.push({origin:"string",code:"invalid_format",format:"includes",includes:e.includes,input:n.value,inst:t,continue:!e.abort})}}),ff=x("$ZodCheckStartsWith",(t,e)=>{ce.init(t,e);let r=new RegExp(`^${gt(e.prefix)}.*`);e.pattern??(e.pattern=r),t._zod.check=o=>{o.value.startsWith(e.prefix)||o.issues.push({origin:"string",code:"invalid_format",format:"starts_with",prefix:e.prefix,input:o.value,inst:t,continue:!e.abort})}}),df=x("$ZodCheckEndsWith",(t,e)=>{ce.init(t,e);let r=new RegExp(`.*${gt(e.suffix)}$`);e.pattern??(e.pattern=r),t._zod.check=o=>{o.value.endsWith(e.suffix)||o.issues.push({origin:"string",code:"invalid_format",format:"ends_with",suffix:e.suffix,input:o.value,inst:t,continue:!e.abort})}});var pf=x("$ZodCheckOverwrite",(t,e)=>{ce.init(t,e),t._zod.check=r=>{r.value=e.tx(r.value)}});var On=class{constructor(e=[],r={}){this.content=[],this.indent=0,this.args=e,this.closed=r}indented(e){this.indent+=1;try{e(this)}finally{this.indent-=1}}write(e){if(typeof e=="function"){e(this,{execution:"sync"}),e(this,{execution:"async"});return}let o=e.split(`
`).filter(i=>i),n=Math.min(...o.map(i=>i.length-i.trimStart().length)),s=o.map(i=>i.slice(n)).map(i=>" ".repeat(this.indent*2)+i);for(let i of s)this.content.push(i)}compile(){let e=Function,r=this?.content??[""];return new e(...Object.keys(this.closed),`return function (${this.args.join(", ")}) {
${r.join(`
`)}
};`)(...Object.values(this.closed))}};var mf={major:4,minor:6,patch:7};var H=x("$ZodType",(t,e)=>{var r;t??(t={}),t._zod.def=e,t._zod.bag=t._zod.bag||{},t._zod.version=mf;let o=t._zod.def.checks,n=t._zod.traits.has("$ZodCheck")?[t,...o??[]]:o?.length?[...o]:[];for(let s of n)for(let i of s._zod.onattach)i(t);if(n.length===0)(r=t._zod).deferred??(r.deferred=[]),t._zod.deferred?.push(()=>{t._zod.run=t._zod.parse});else{let s=(a,c,u)=>{if(a.memo)return a;let l=Ee(a),f;for(let d of c){if(d._zod.def.when){if(Wi(a)||!d._zod.def.when(a))continue}else if(l)continue;let p=a.issues.length,h=d._zod.check(a);if(h instanceof Promise&&u?.async===!1)throw new Ke;if(f||h instanceof Promise)f=(f??Promise.resolve()).then(async()=>{await h,a.issues.length!==p&&(eo(a.issues,p,t),l||(l=Ee(a,p)))});else{if(a.issues.length===p)continue;eo(a.issues,p,t),l||(l=Ee(a,p))}}return f?f.then(()=>a):a},i=(a,c,u)=>{if(Ee(a))return a.aborted=!0,a;let l=s(c,n,u);if(l instanceof Promise){if(u.async===!1)throw new Ke;return l.then(f=>t._zod.parse(f,u))}return t._zod.parse(l,u)};t._zod.run=(a,c)=>{if(c.skipChecks)return t._zod.parse(a,c);if(c.direction==="backward"){let l=t._zod.parse({value:a.value,issues:[]},{...c,skipChecks:!0});return l instanceof Promise?l.then(f=>i(f,a,c)):i(l,a,c)}let u=t._zod.parse(a,c);if(u instanceof Promise){if(c.async===!1)throw new Ke;return u.then(l=>s(l,n,c))}return s(u,n,c)}}},{get"~standard"(){return vn(this,"~standard",da(this))},set"~standard"(t){$t(this,"~standard",t)}}),Of=(t,e)=>t.issues.length?{issues:t.issues.map(r=>He(r,e,_e()))}:{value:t.value};async function ub(t,e){let r={async:!0};return Of(await t._zod.run({value:e,issues:[]},r),r)}function da(t){return{validate:e=>{let r={async:!1};try{let o=t._zod.run({value:e,issues:[]},r);if(!(o instanceof Promise))return Of(o,r)}catch{}return ub(t,e)},vendor:"zod",version:1}}var In=x("$ZodString",(t,e)=>{H.init(t,e),t._zod.pattern=e.pattern??Yl,t._zod.parse=(r,o)=>{if(e.coerce)try{r.value=String(r.value)}catch{}return typeof r.value=="string"||r.issues.push({expected:"string",code:"invalid_type",input:r.value,inst:t}),r}}),W=x("$ZodStringFormat",(t,e)=>{no.init(t,e),In.init(t,e)}),Mf=x("$ZodGUID",(t,e)=>{e.pattern??(e.pattern=Nl),W.init(t,e)}),$f=x("$ZodUUID",(t,e)=>{if(e.version){let o={v1:1,v2:2,v3:3,v4:4,v5:5,v6:6,v7:7,v8:8}[e.version];if(o===void 0)throw new Error(`Invalid UUID version: "${e.version}"`);e.pattern??(e.pattern=ia(o))}else e.pattern??(e.pattern=ia());W.init(t,e)}),Pf=x("$ZodEmail",(t,e)=>{e.pattern??(e.pattern=Ll),W.init(t,e)}),If=1,$n=2;function Rf(t){try{return typeof URL<"u"&&typeof URL.canParse=="function"?URL.canParse(t):(new URL(t),!0)}catch{return!1}}function lb(t,e){return!("normalize"in e)&&!("hostname"in e)&&!("protocol"in e)?Rf(t)||$n:fb(t,e)}function fb(t,e){if(!e.normalize&&e.protocol?.source===jl.source&&!/^https?:\/\//i.test(t))return If;try{if(typeof URL<"u"){let r=URL;if(typeof r.parse=="function")return r.parse(t)??$n}return new URL(t)}catch{return $n}}var db=/[\t\n\r]/g;function gf(t){return t.replace(db,"")}function pb(t,e){return e.lastIndex=0,e.test(t.hostname)}function hb(t,e){return e.lastIndex=0,e.test(t.protocol.endsWith(":")?t.protocol.slice(0,-1):t.protocol)}var Nf=x("$ZodURL",(t,e)=>{W.init(t,e),t._zod.check=r=>{try{let o=r.value.trim(),n=lb(o,e);if(n===If){r.issues.push({code:"invalid_format",format:"url",note:"Invalid URL format",input:r.value,inst:t,continue:!e.abort});return}if(n===$n){r.issues.push({code:"invalid_format",format:"url",input:r.value,inst:t,continue:!e.abort});return}if(n===!0){r.value=gf(o);return}e.hostname&&!pb(n,e.hostname)&&r.issues.push({code:"invalid_format",format:"url",note:"Invalid hostname",pattern:e.hostname.source,input:r.value,inst:t,continue:!e.abort}),e.protocol&&!hb(n,e.protocol)&&r.issues.push({code:"invalid_format",format:"url",note:"Invalid protocol",pattern:e.protocol.source,input:r.value,inst:t,continue:!e.abort}),r.value=e.normalize?n.href:gf(o);return}catch{r.issues.push({code:"invalid_format",format:"url",input:r.value,inst:t,continue:!e.abort})}}}),Lf=x("$ZodEmoji",(t,e)=>{e.pattern??(e.pattern=Cl()),W.init(t,e)}),Cf=x("$ZodNanoID",(t,e)=>{if(e.length!==void 0&&(!Number.isInteger(e.length)||e.length<1))throw new Error(`Invalid nanoid length: ${e.length}`);e.pattern??(e.pattern=e.length===void 0?Pl:Il(e.length)),W.init(t,e)}),Df=x("$ZodCUID",(t,e)=>{e.pattern??(e.pattern=Tl),W.init(t,e)}),Bf=x("$ZodCUID2",(t,e)=>{e.pattern??(e.pattern=zl),W.init(t,e)}),Uf=x("$ZodULID",(t,e)=>{e.pattern??(e.pattern=Ol),W.init(t,e)}),Zf=x("$ZodXID",(t,e)=>{e.pattern??(e.pattern=Ml),W.init(t,e)}),qf=x("$ZodKSUID",(t,e)=>{e.pattern??(e.pattern=$l),W.init(t,e)}),Ff=x("$ZodISODateTime",(t,e)=>{e.pattern??(e.pattern=Wl(e)),W.init(t,e)}),jf=x("$ZodISODate",(t,e)=>{e.pattern??(e.pattern=Gl),W.init(t,e)}),Hf=x("$ZodISOTime",(t,e)=>{e.pattern??(e.pattern=Vl(e)),W.init(t,e)}),Kf=x("$ZodISODuration",(t,e)=>{e.pattern??(e.pattern=Rl),W.init(t,e)}),Gf=x("$ZodIPv4",(t,e)=>{e.pattern??(e.pattern=Dl),W.init(t,e)}),mb=/^[0-9a-fA-F:.]+$/;function Vf(t){return mb.test(t)?Rf(`http://[${t}]`):!1}var Wf=x("$ZodIPv6",(t,e)=>{e.pattern??(e.pattern=Bl),W.init(t,e),t._zod.check=r=>{Vf(r.value)||r.issues.push({code:"invalid_format",format:"ipv6",input:r.value,inst:t,continue:!e.abort})}});var Yf=x("$ZodCIDRv4",(t,e)=>{e.pattern??(e.pattern=Ul),W.init(t,e)});function gb(t){let e=t.split("/");if(e.length!==2)return!1;let[r,o]=e;if(!o)return!1;let n=Number(o);return`${n}`!==o||n<0||n>128?!1:Vf(r)}var Jf=x("$ZodCIDRv6",(t,e)=>{e.pattern??(e.pattern=Zl),W.init(t,e),t._zod.check=r=>{gb(r.value)||r.issues.push({code:"invalid_format",format:"cidrv6",input:r.value,inst:t,continue:!e.abort})}});function Xf(t){if(t==="")return!0;if(/\s/.test(t)||t.length%4!==0)return!1;try{return atob(t),!0}catch{return!1}}var pa=/^[0-9a-zA-Z+/]*={0,2}$/,Qf=x("$ZodBase64",(t,e)=>{e.pattern??(e.pattern=pa),W.init(t,e),t._zod.check=r=>{Xf(r.value)||r.issues.push({code:"invalid_format",format:"base64",input:r.value,inst:t,continue:!e.abort})}}),Rn=/^[A-Za-z0-9_-]*$/;function wb(t){if(!Rn.test(t))return!1;let e=t.replace(/[-_]/g,o=>o==="-"?"+":"/"),r=e.padEnd(Math.ceil(e.length/4)*4,"=");return Xf(r)}var ed=x("$ZodBase64URL",(t,e)=>{e.pattern??(e.pattern=Rn),W.init(t,e),t._zod.check=r=>{wb(r.value)||r.issues.push({code:"invalid_format",format:"base64url",input:r.value,inst:t,continue:!e.abort})}}),td=x("$ZodE164",(t,e)=>{e.pattern??(e.pattern=Hl),W.init(t,e)});function _b(t,e=null){try{let r=t.split(".");if(r.length!==3)return!1;let[o]=r;if(!o)return!1;let n=JSON.parse(atob(o));return!("typ"in n&&n?.typ!=="JWT"||!n.alg||e&&(!("alg"in n)||n.alg!==e))}catch{return!1}}var rd=x("$ZodJWT",(t,e)=>{W.init(t,e),t._zod.check=r=>{_b(r.value,e.alg)||r.issues.push({code:"invalid_format",format:"jwt",input:r.value,inst:t,continue:!e.abort})}});var ha=x("$ZodNumber",(t,e)=>{H.init(t,e),t._zod.pattern=oo,t._zod.parse=(r,o)=>{if(e.coerce)try{r.value=Number(r.value)}catch{}let n=r.value;if(typeof n=="number"&&!Number.isNaN(n)&&Number.isFinite(n))return r;let s=typeof n=="number"?Number.isNaN(n)?"NaN":Number.isFinite(n)?void 0:String(n):void 0;return r.issues.push({expected:"number",code:"invalid_type",input:n,inst:t,...s?{received:s}:{}}),r}}),od=x("$ZodNumberFormat",(t,e)=>{rf.init(t,e),ha.init(t,e)}),nd=x("$ZodBoolean",(t,e)=>{H.init(t,e),t._zod.pattern=Xl,t._zod.parse=(r,o)=>{if(e.coerce)try{r.value=!!r.value}catch{}let n=r.value;return typeof n=="boolean"||r.issues.push({expected:"boolean",code:"invalid_type",input:n,inst:t}),r}}),sd=x("$ZodBigInt",(t,e)=>{H.init(t,e),t._zod.pattern=Jl,t._zod.parse=(r,o)=>{if(e.coerce)try{r.value=BigInt(r.value)}catch{}return typeof r.value=="bigint"||r.issues.push({expected:"bigint",code:"invalid_type",input:r.value,inst:t}),r}});var id=x("$ZodUnknown",(t,e)=>{H.init(t,e),t._zod.parse=r=>r}),ad=x("$ZodNever",(t,e)=>{H.init(t,e),t._zod.parse=(r,o)=>(r.issues.push({expected:"never",code:"invalid_type",input:r.value,inst:t}),r)});var cd=x("$ZodDate",(t,e)=>{H.init(t,e),t._zod.parse=(r,o)=>{if(e.coerce)try{r.value=new Date(r.value)}catch{}let n=r.value,s=n instanceof Date;return s&&!Number.isNaN(n.getTime())||r.issues.push({expected:"date",code:"invalid_type",input:n,...s?{received:"Invalid Date"}:{},inst:t}),r}});function xb(t,e){let r=bn(t._zod.def.checks);if(!r.length)return;let o=Math.min(...r.map(s=>s[0])),n=t._zod.parse;t._zod.parse=(s,i)=>{let a=e(s.value);if(a>o&&!i?.skipChecks&&i?.direction!=="backward"){for(let[c,u]of bn(t._zod.def.checks))if(a>c&&u._zod.def.when(s)){let l=s.issues.length;return u._zod.check(s),s.issues[l].continue=!1,eo(s.issues,l,t),s}}return n(s,i)}}var yb=t=>Array.isArray(t)?t.length:-1;function wf(t,e,r){t.issues.length&&e.issues.push(...je(r,t.issues)),e.value[r]=t.value}var ud=x("$ZodArray",(t,e)=>{H.init(t,e);let r=me.memoizer;r?.attach(t),t._zod.parse=(o,n)=>{let s=o.value;if(!Array.isArray(s))return o.issues.push({expected:"array",code:"invalid_type",input:s,inst:t}),o;o.value=r?r.alloc(t,o,Array(s.length),n):Array(s.length);let i=[],a=n?.abortEarly;for(let c=0;c<s.length;c++){let u=s[c],l=e.element._zod.run({value:u,issues:[]},n);if(l instanceof Promise)i.push(l.then(f=>wf(f,o,c)));else if(wf(l,o,c),a&&l.issues.length!==0&&Ee(l))break}return i.length?Promise.all(i).then(()=>o):o},xb(t,yb)});function Pn(t,e,r,o,n,s){let i=r in o,a=s==="optional";if(!(!i&&a&&n==="optional")){if(t.issues.length){if(n!==void 0&&a&&!i)return;e.issues.push(...je(r,t.issues))}if(!i&&n===void 0){t.issues.length||e.issues.push({code:"invalid_type",expected:"nonoptional",input:void 0,path:[r]});return}t.value===void 0?(i||n==="defaulted"&&!a)&&(e.value[r]=void 0):e.value[r]=t.value}}var bb=[];function ld(t){let e=Object.keys(t.shape),r=Object.getOwnPropertySymbols(t.shape),o=r.length?r:bb,n=o.length?[...e,...o]:e;for(let i of n)if(!t.shape?.[i]?._zod?.traits?.has("$ZodType"))throw new Error(`Invalid element at key "${String(i)}": expected a Zod schema`);let s=Vi(t.shape);return{...t,allKeys:n,symbolKeys:o,keySet:new Set(e),numKeys:e.length,optionalKeys:new Set(s)}}function fd(t,e,r,o,n,s,i){let a=[],c=n.keySet,u=n.catchall._zod,l=u.def.type,f=u.optin,d=u.optout,p=0;for(let h in e){if(i&&r.issues.length!==p){if(Ee(r,p))break;p=r.issues.length}if(c.has(h))continue;if(h==="__proto__"){l==="never"&&a.push(h);continue}if(l==="never"){a.push(h);continue}let g=u.run({value:e[h],issues:[]},o);g instanceof Promise?t.push(g.then(m=>Pn(m,r,h,e,f,d))):Pn(g,r,h,e,f,d)}return a.length&&r.issues.push({code:"unrecognized_keys",keys:a,input:e,inst:s,continue:!0}),t.length?Promise.all(t).then(()=>r):r}var vb=x("$ZodObject",(t,e)=>{H.init(t,e);let r=Object.getOwnPropertyDescriptor(e,"shape"),o=r?.get?r.get.raw:e.shape??{};if(o){let u=()=>{let l={...o};return Object.defineProperty(e,"shape",{value:l}),u.raw=l,l};u.raw=o,Object.defineProperty(e,"shape",{get:u})}let n=Yr(()=>ld(e));B(t,"propValues",u=>{let l=u.def.shape,f={};for(let d in l){let p=l[d]._zod;if(p.values){Object.prototype.hasOwnProperty.call(f,d)||Ie(f,d,new Set);for(let h of p.values)f[d].add(h);p.optin!==void 0&&f[d].add(void 0)}}return f});let s=hr,i=e.catchall,a,c=me.memoizer;c?.attach(t),t._zod.parse=(u,l)=>{a??(a=n.value);let f=u.value;if(!s(f))return u.issues.push({expected:"object",code:"invalid_type",input:f,inst:t}),u;u.value=c?c.alloc(t,u,{},l):{};let d=[],p=a.shape,h=l?.abortEarly,g=u.issues.length;for(let m of a.allKeys){if(h&&u.issues.length!==g){if(Ee(u,g))break;g=u.issues.length}if(m==="__proto__")continue;let w=p[m],_=w._zod.optin,S=w._zod.optout,E=w._zod.run({value:f[m],issues:[]},l);E instanceof Promise?d.push(E.then(k=>Pn(k,u,m,f,_,S))):Pn(E,u,m,f,_,S)}return i?fd(d,f,u,l,n.value,t,h===!0):d.length?Promise.all(d).then(()=>u):u}}),dd=x("$ZodObjectJIT",(t,e)=>{vb.init(t,e);let r=t._zod.parse,o=Yr(()=>ld(e)),n=me.memoizer,s=p=>{let h=o.value,g=h.symbolKeys,m=new On(["payload","ctx"],{shape:p,inst:t,memo:n,syms:g}),w=k=>`shape[${k}]._zod.run({ value: input[${k}], issues: [] }, ctx)`,_=(k,M)=>`
          let ${k}_ab = false;
          for (let i = 0; i < ${k}.issues.length; i++) {
            const iss = ${k}.issues[i];
            iss.path = iss.path ? [${M}, ...iss.path] : [${M}];
            payload.issues.push(iss);
            if (iss.continue !== true) ${k}_ab = true;
          }
          if (${k}_ab && ctx && ctx.abortEarly) {
            payload.value = newResult;
            return payload;
          }`;m.write("const input = payload.value;");let S=Object.create(null),E=0;for(let k of h.allKeys)S[k]=`key_${E++}`;m.write(n?"const newResult = memo.alloc(inst, payload, {}, ctx);":"const newResult = {};");for(let k of h.allKeys){if(k==="__proto__")continue;let M=S[k],C=typeof k=="symbol"?`syms[${g.indexOf(k)}]`:ji(k),N=`${C} in input`,j=p[k],ae=j?._zod?.optin,he=ae!==void 0,Z=j?._zod?.optout==="optional";if(m.write(`const ${M} = ${w(C)};`),he&&Z){let Se=ae==="optional"?`${M}_present`:`${M}.value !== undefined || ${M}_present`;m.write(`
        const ${M}_present = ${N};
        if (!${M}.issues.length || ${M}_present) {
          if (${M}.issues.length) {${_(M,C)}
          }

          if (${Se}) {
            newResult[${C}] = ${M}.value;
          }
        }

      `)}else he?(m.write(`
        if (${M}.issues.length) {${_(M,C)}
        }
      `),ae==="defaulted"?m.write(`newResult[${C}] = ${M}.value;`):m.write(`
        if (${M}.value !== undefined || ${N}) {
          newResult[${C}] = ${M}.value;
        }
      `)):m.write(`
        const ${M}_present = ${N};
        if (${M}.issues.length) {${_(M,C)}
        }
        if (!${M}_present && !${M}.issues.length) {
          payload.issues.push({
            code: "invalid_type",
            expected: "nonoptional",
            input: undefined,
            path: [${C}]
          });
          if (ctx && ctx.abortEarly) {
            payload.value = newResult;
            return payload;
          }
        }

        if (${M}_present) {
          newResult[${C}] = ${M}.value;
        }

      `)}return m.write("payload.value = newResult;"),m.write("return payload;"),m.compile()},i,a=hr,c=!me.jitless,l=c&&Ki.value,f=e.catchall,d;t._zod.parse=(p,h)=>{d??(d=o.value);let g=p.value;return a(g)?c&&l&&h?.async===!1&&h.jitless!==!0?(i||(i=s(e.shape)),p=i(p,h),f?fd([],g,p,h,d,t,h?.abortEarly===!0):p):r(p,h):(p.issues.push({expected:"object",code:"invalid_type",input:g,inst:t}),p)}});function _f(t,e,r,o){for(let s of t)if(s.issues.length===0)return e.value=s.value,e;let n=t.filter(s=>!Ee(s));return n.length===1?(e.value=n[0].value,n[0]):(e.issues.push({code:"invalid_union",input:e.value,inst:r,errors:t.map(s=>s.issues.map(i=>He(i,o,_e())))}),e)}var pd=x("$ZodUnion",(t,e)=>{H.init(t,e),B(t,"optin",o=>o.def.options.some(n=>n._zod.optin==="defaulted")?"defaulted":o.def.options.some(n=>n._zod.optin!==void 0)?"optional":void 0),B(t,"optout",o=>o.def.options.some(n=>n._zod.optout==="optional")?"optional":void 0),B(t,"values",o=>{if(o.def.options.every(n=>n._zod.values))return new Set(o.def.options.flatMap(n=>Array.from(n._zod.values)))}),B(t,"pattern",o=>{if(o.def.options.every(n=>n._zod.pattern)){let n=o.def.options.map(s=>s._zod.pattern);return new RegExp(`^(${n.map(s=>Jr(s.source)).join("|")})$`)}});let r=e.options.length===1?e.options[0]._zod.run:null;t._zod.parse=(o,n)=>{if(r)return r(o,n);let s=!1,i=[];for(let a of e.options){let c=a._zod.run({value:o.value,issues:[]},n);if(c instanceof Promise)i.push(c),s=!0;else{if(c.issues.length===0)return c;i.push(c)}}return s?Promise.all(i).then(a=>_f(a,o,t,n)):_f(i,o,t,n)}});var hd=x("$ZodIntersection",(t,e)=>{H.init(t,e),t._zod.parse=(r,o)=>{let n=r.value,s=e.left._zod.run({value:n,issues:[]},o),i=e.right._zod.run({value:n,issues:[]},o);return s instanceof Promise||i instanceof Promise?Promise.all([s,i]).then(([c,u])=>xf(r,c,u)):xf(r,s,i)}});function fa(t,e){if(t===e)return{valid:!0,data:t};if(t instanceof Date&&e instanceof Date&&+t==+e)return{valid:!0,data:t};if(Pt(t)&&Pt(e)){let r=Object.keys(e),o=Object.keys(t).filter(s=>r.indexOf(s)!==-1),n={...t,...e};Object.prototype.hasOwnProperty.call(n,"__proto__")&&delete n.__proto__;for(let s of o){if(s==="__proto__")continue;let i=fa(t[s],e[s]);if(!i.valid)return{valid:!1,mergeErrorPath:[s,...i.mergeErrorPath]};n[s]=i.data}return{valid:!0,data:n}}if(Array.isArray(t)&&Array.isArray(e)){if(t.length!==e.length)return{valid:!1,mergeErrorPath:[]};let r=[];for(let o=0;o<t.length;o++){let n=t[o],s=e[o],i=fa(n,s);if(!i.valid)return{valid:!1,mergeErrorPath:[o,...i.mergeErrorPath]};r.push(i.data)}return{valid:!0,data:r}}return{valid:!1,mergeErrorPath:[]}}function xf(t,e,r){let o=new Map,n,s=new Map,i=(u,l)=>{let f;if(u.code==="unrecognized_keys"&&!u.path?.length)n??(n=u),f=u.keys;else if(u.code==="invalid_key"&&u.origin==="record"&&u.path?.length===1){let d=String(u.path[0]);s.has(d)||s.set(d,u),f=[d]}else return!1;for(let d of f)o.has(d)||o.set(d,{}),o.get(d)[l]=!0;return!0};for(let u of e.issues)i(u,"l")||t.issues.push(u);for(let u of r.issues)i(u,"r")||t.issues.push(u);let a=[...o].filter(([,u])=>u.l&&u.r).map(([u])=>u);if(a.length){let u=n?a.filter(l=>n.keys.includes(l)):[];u.length&&t.issues.push({...n,keys:u});for(let l of a)!u.includes(l)&&s.has(l)&&t.issues.push(s.get(l))}let c=fa(e.value,r.value);if(!c.valid){if(Ee(t))return t;throw new Error(`Unmergable intersection. Error path: ${JSON.stringify(c.mergeErrorPath)}`)}return t.value=c.data,t}var md=x("$ZodTuple",(t,e)=>{H.init(t,e);let r=e.items,o=me.memoizer;o?.attach(t),t._zod.parse=(n,s)=>{let i=n.value;if(!Array.isArray(i))return n.issues.push({input:i,inst:t,expected:"tuple",code:"invalid_type"}),n;n.value=o?o.alloc(t,n,[],s):[];let a=[],c=yf(r,"optin"),u=yf(r,"optout");if(!e.rest){if(i.length<c)return n.issues.push({code:"too_small",minimum:c,inclusive:!0,input:i,inst:t,origin:"array"}),n;i.length>r.length&&n.issues.push({code:"too_big",maximum:r.length,inclusive:!0,input:i,inst:t,origin:"array"})}let l=new Array(r.length),f=e.rest?s?.abortEarly:void 0,d=!1;for(let p=0;p<r.length;p++){let h=r[p]._zod.run({value:i[p],issues:[]},s);h instanceof Promise?a.push(h.then(g=>{l[p]=g})):(l[p]=h,f&&!d&&h.issues.length&&(d=Ee(h)))}if(e.rest&&!d){let p=r.length-1,h=i.slice(r.length),g=n.issues.length;for(let m of h){if(f&&n.issues.length!==g){if(Ee(n,g))break;g=n.issues.length}p++;let w=e.rest._zod.run({value:m,issues:[]},s);w instanceof Promise?a.push(w.then(_=>bf(_,n,p))):bf(w,n,p)}}return a.length?Promise.all(a).then(()=>vf(l,n,r,i,u)):vf(l,n,r,i,u)}});function yf(t,e){for(let r=t.length-1;r>=0;r--)if(!(e==="optin"?t[r]._zod.optin!==void 0:t[r]._zod.optout==="optional"))return r+1;return 0}function bf(t,e,r){t.issues.length&&e.issues.push(...je(r,t.issues)),e.value[r]=t.value}function vf(t,e,r,o,n){for(let s=0;s<r.length;s++){let i=t[s],a=s<o.length;if(!a&&s>=n&&r[s]._zod.optin==="optional"){e.value.length=s;break}if(i.issues.length){if(!a&&s>=n){e.value.length=s;break}e.issues.push(...je(s,i.issues))}e.value[s]=i.value}for(let s=e.value.length-1;s>=o.length&&(r[s]._zod.optout==="optional"&&e.value[s]===void 0);s--)e.value.length=s;return e}var gd=x("$ZodRecord",(t,e)=>{H.init(t,e);let r=me.memoizer;r?.attach(t),t._zod.parse=(o,n)=>{let s=o.value;if(!Pt(s))return o.issues.push({expected:"record",code:"invalid_type",input:s,inst:t}),o;let i=[],a=e.keyType._zod.values;if(a&&!e.partial){o.value=r?r.alloc(t,o,{},n):{};let c=new Set;for(let l of a)if(typeof l=="string"||typeof l=="number"||typeof l=="symbol"){if(c.add(typeof l=="number"?l.toString():l),l==="__proto__")continue;let f=e.keyType._zod.run({value:l,issues:[]},n);if(f instanceof Promise)throw new Error("Async schemas not supported in object keys currently");if(f.issues.length){o.issues.push({code:"invalid_key",origin:"record",issues:f.issues.map(h=>He(h,n,_e())),input:l,path:[l],inst:t});continue}let d=f.value;if(d==="__proto__")continue;let p=e.valueType._zod.run({value:s[l],issues:[]},n);p instanceof Promise?i.push(p.then(h=>{h.issues.length&&o.issues.push(...je(l,h.issues)),o.value[d]=h.value})):(p.issues.length&&o.issues.push(...je(l,p.issues)),o.value[d]=p.value)}let u;for(let l in s)if(!c.has(l))if(e.mode==="loose"){if(l==="__proto__")continue;o.value[l]=s[l]}else u=u??[],u.push(l);u&&u.length>0&&o.issues.push({code:"unrecognized_keys",input:s,inst:t,keys:u,continue:!0})}else{o.value=r?r.alloc(t,o,{},n):{};let c;for(let u of Reflect.ownKeys(s)){if(u==="__proto__"||!Object.prototype.propertyIsEnumerable.call(s,u))continue;let l=e.keyType._zod.run({value:u,issues:[]},n);if(l instanceof Promise)throw new Error("Async schemas not supported in object keys currently");if(typeof u=="string"&&oo.test(u)&&l.issues.length){let h=e.keyType._zod.run({value:Number(u),issues:[]},n);if(h instanceof Promise)throw new Error("Async schemas not supported in object keys currently");h.issues.length===0&&(l=h)}if(l.issues.length){e.mode==="loose"?o.value[u]=s[u]:a?(c=c??[],c.push(u)):o.issues.push({code:"invalid_key",origin:"record",issues:l.issues.map(h=>He(h,n,_e())),input:u,path:[u],inst:t});continue}let d=l.value;if(d==="__proto__")continue;let p=e.valueType._zod.run({value:s[u],issues:[]},n);p instanceof Promise?i.push(p.then(h=>{h.issues.length&&o.issues.push(...je(u,h.issues)),o.value[d]=h.value})):(p.issues.length&&o.issues.push(...je(u,p.issues)),o.value[d]=p.value)}c&&c.length>0&&o.issues.push({code:"unrecognized_keys",input:s,inst:t,keys:c,continue:!0})}return i.length?Promise.all(i).then(()=>o):o}});var wd=x("$ZodEnum",(t,e)=>{H.init(t,e);let r=mr(e.entries),o=new Set(r);t._zod.values=o,B(t,"pattern",n=>{let s=mr(n.def.entries).filter(i=>Gi.has(typeof i));return new RegExp(s.length?`^(${s.map(i=>gt(i.toString())).join("|")})$`:"^[^\\s\\S]$")}),t._zod.parse=(n,s)=>{let i=n.value;return o.has(i)||n.issues.push({code:"invalid_value",values:r,input:i,inst:t}),n}}),_d=x("$ZodLiteral",(t,e)=>{H.init(t,e);let r=new Set(e.values);t._zod.values=r,B(t,"pattern",o=>{let n=o.def.values;return new RegExp(n.length?`^(${n.map(s=>typeof s=="string"?gt(s):s?gt(s.toString()):String(s)).join("|")})$`:"^[^\\s\\S]$")}),t._zod.parse=(o,n)=>{let s=o.value;return r.has(s)||o.issues.push({code:"invalid_value",values:e.values,input:s,inst:t}),o}});var xd=x("$ZodTransform",(t,e)=>{H.init(t,e),t._zod.optin="optional",me.memoizer?.guard(t),t._zod.parse=(r,o)=>{if(o.direction==="backward")throw new _r(t.constructor.name);let n=e.transform(r.value,r);if(o.async)return(n instanceof Promise?n:Promise.resolve(n)).then(i=>(r.value=i,r));if(n instanceof Promise)throw new Ke;return r.value=n,r}});function Sf(t,e){return t.value=e.issues.length?void 0:e.value,t}var ma=x("$ZodOptional",(t,e)=>{H.init(t,e),B(t,"optin",r=>r.def.innerType._zod.optin==="defaulted"?"defaulted":"optional"),t._zod.optout="optional",B(t,"values",r=>{let o=r.def.innerType._zod.values;return o?new Set([...o,void 0]):void 0}),B(t,"pattern",r=>{let o=r.def.innerType._zod.pattern;return o?new RegExp(`^(${Jr(o.source)})?$`):void 0}),t._zod.parse=(r,o)=>{if(r.value===void 0){if(e.innerType._zod.optin!=="defaulted")return r;let n=e.innerType._zod.run({value:r.value,issues:[]},o);return n instanceof Promise?n.then(s=>Sf(r,s)):Sf(r,n)}return e.innerType._zod.run(r,o)}}),yd=x("$ZodExactOptional",(t,e)=>{ma.init(t,e),B(t,"values",r=>r.def.innerType._zod.values),B(t,"pattern",r=>r.def.innerType._zod.pattern),t._zod.parse=(r,o)=>e.innerType._zod.run(r,o)}),bd=x("$ZodNullable",(t,e)=>{H.init(t,e),B(t,"optin",r=>r.def.innerType._zod.optin),B(t,"optout",r=>r.def.innerType._zod.optout),B(t,"pattern",r=>{let o=r.def.innerType._zod.pattern;return o?new RegExp(`^(${Jr(o.source)}|null)$`):void 0}),B(t,"values",r=>r.def.innerType._zod.values?new Set([...r.def.innerType._zod.values,null]):void 0),t._zod.parse=(r,o)=>r.value===null?r:e.innerType._zod.run(r,o)}),vd=x("$ZodDefault",(t,e)=>{H.init(t,e),t._zod.optin="defaulted",B(t,"values",r=>r.def.innerType._zod.values),t._zod.parse=(r,o)=>{if(o.direction==="backward")return e.innerType._zod.run(r,o);if(r.value===void 0)return r.value=e.defaultValue,r;let n=e.innerType._zod.run(r,o);return n instanceof Promise?n.then(s=>kf(s,e)):kf(n,e)}});function kf(t,e){return t.value===void 0&&(t.value=e.defaultValue),t}var Sd=x("$ZodPrefault",(t,e)=>{H.init(t,e),t._zod.optin="defaulted",B(t,"values",r=>r.def.innerType._zod.values),t._zod.parse=(r,o)=>(o.direction==="backward"||r.value===void 0&&(r.value=e.defaultValue),e.innerType._zod.run(r,o))}),kd=x("$ZodNonOptional",(t,e)=>{H.init(t,e),B(t,"values",r=>{let o=r.def.innerType._zod.values;return o?new Set([...o].filter(n=>n!==void 0)):void 0}),t._zod.parse=(r,o)=>{let n=e.innerType._zod.run(r,o);return n instanceof Promise?n.then(s=>Ef(s,t)):Ef(n,t)}});function Ef(t,e){return!t.issues.length&&t.value===void 0&&t.issues.push({code:"invalid_type",expected:"nonoptional",input:t.value,inst:e}),t}function Af(t,e,r,o){return e.issues.length?(t.value=r.catchValue({...e,value:t.value,error:{issues:e.issues.map(n=>He(n,o,_e()))},input:t.value}),t):(t.value=e.value,e.memo&&(t.memo=!0),t)}var Ed=x("$ZodCatch",(t,e)=>{H.init(t,e),B(t,"optin",r=>r.def.innerType._zod.optin==="defaulted"?"defaulted":"optional"),B(t,"optout",r=>r.def.innerType._zod.optout),B(t,"values",r=>r.def.innerType._zod.values),t._zod.parse=(r,o)=>{if(o.direction==="backward")return e.innerType._zod.run(r,o);let n=e.innerType._zod.run({value:r.value,issues:[]},o);return n instanceof Promise?n.then(s=>Af(r,s,e,o)):Af(r,n,e,o)}});var Ad=x("$ZodPipe",(t,e)=>{H.init(t,e),B(t,"values",r=>r.def.in._zod.values),B(t,"optin",r=>r.def.in._zod.optin),B(t,"optout",r=>r.def.out._zod.optout),B(t,"propValues",r=>r.def.in._zod.propValues),t._zod.parse=(r,o)=>{if(o.direction==="backward"){let s=e.out._zod.run(r,o);return s instanceof Promise?s.then(i=>Mn(i,e.in,o)):Mn(s,e.in,o)}let n=e.in._zod.run(r,o);return n instanceof Promise?n.then(s=>Mn(s,e.out,o)):Mn(n,e.out,o)}});function Mn(t,e,r){return t.issues.some(o=>o.code!=="unrecognized_keys")?(t.aborted=!0,t):e._zod.run({value:t.value,issues:t.issues},r)}var Td=x("$ZodReadonly",(t,e)=>{H.init(t,e),B(t,"propValues",r=>r.def.innerType._zod.propValues),B(t,"values",r=>r.def.innerType._zod.values),B(t,"optin",r=>r.def.innerType?._zod?.optin),B(t,"optout",r=>r.def.innerType?._zod?.optout),t._zod.parse=(r,o)=>{if(o.direction==="backward")return e.innerType._zod.run(r,o);let n=e.innerType._zod.run(r,o);return n instanceof Promise?n.then(Tf):Tf(n)}});function Tf(t){return t.memo||(t.value=Object.freeze(t.value)),t}var zd=x("$ZodCustom",(t,e)=>{ce.init(t,e),H.init(t,e),t._zod.parse=(r,o)=>r,t._zod.check=r=>{let o=r.value,n=e.fn(o);if(n instanceof Promise)return n.then(s=>zf(s,r,o,t));zf(n,r,o,t)}});function zf(t,e,r,o){if(!t){let n={code:"custom",input:r,inst:o,path:[...o._zod.def.path??[]],continue:!o._zod.def.abort};o._zod.def.params&&(n.params=o._zod.def.params),e.issues.push(wr(n))}}var wa=class extends Error{constructor(){super("Cannot parse a reference cycle that closes through a transform"),this.name="ZodCyclicError"}},_a="~memo",Od=[];function Md(t){return t!==null&&typeof t=="object"}function ga(t){return t.map(e=>e.path?{...e,path:e.path.slice()}:{...e})}var $d=new WeakMap,so=0,Cn=1,io=2;function Dn(t,e,r){let o=$d.get(t);if(o!==void 0)return o?io:so;if(e.has(t))return io;e.add(t);let n=so,s=l=>{if(n!==io&&l?._zod){let f=Dn(l,e,r);f>n&&(n=f)}},i=(l,f)=>{let d=so;for(let p of Reflect.ownKeys(l)){let h=Object.getOwnPropertyDescriptor(l,p);if(f&&!h.enumerable)continue;let g=h.get?Cn:h.value?._zod?Dn(h.value,e,r):so;g>d&&(d=g)}return d},a=l=>{l>n&&(n=l)},c=t._zod.def,u=c.type;switch(u){case"object":{let l=Xr(c);a(l?i(l,!0):Cn),s(c.catchall);break}case"array":s(c.element);break;case"tuple":for(let l of c.items)s(l);s(c.rest);break;case"record":case"map":s(c.keyType),s(c.valueType);break;case"set":s(c.valueType);break;case"union":for(let l of c.options)s(l);break;case"intersection":s(c.left),s(c.right);break;case"optional":case"nullable":case"default":case"prefault":case"catch":case"readonly":case"nonoptional":case"promise":case"success":s(c.innerType);break;case"pipe":s(c.in),s(c.out);break;case"function":s(c.input),s(c.output);break;case"lazy":{let l=c._cachedInner??(r?t._zod.innerType:void 0);a(l?Dn(l,e,!1):Cn);break}case"template_literal":case"string":case"number":case"int":case"boolean":case"bigint":case"symbol":case"undefined":case"null":case"void":case"never":case"any":case"unknown":case"date":case"nan":case"enum":case"literal":case"file":case"transform":case"custom":break;default:for(let l in c){let f=Object.getOwnPropertyDescriptor(c,l);if(!f||f.get)continue;let d=f.value;if(!(!d||typeof d!="object")){if(d._zod)s(d);else if(Array.isArray(d))for(let p of d)s(p)}}}return e.delete(t),Sb(t,n)}function Sb(t,e){return e!==Cn&&$d.set(t,e===io),e}function kb(t,e){let r=t.buckets.get(e);return r||(r=new WeakMap,t.buckets.set(e,r)),r}var Nn,Ln=[],Eb={alloc(t,e,r){let o=Nn;if(!o)return r;Nn=void 0;let n={value:r,issues:null};return o.set(e.value,n),Ln.push(n),r},guard(t){var e;(e=t._zod).deferred??(e.deferred=[]),t._zod.deferred.push(()=>{let r=t._zod.parse,o=(n,s)=>{if(s.direction!=="backward"&&Ab(s,n.value))throw new wa;return r(n,s)};t._zod.parse=o,t._zod.run===r&&(t._zod.run=o)})},attach(t){var e;let r,o=!1,n,s;(e=t._zod).deferred??(e.deferred=[]),t._zod.deferred.push(()=>{let i=t._zod.parse,a=(c,u)=>{if(r===void 0){let w=Dn(t,new Set,!1);if(w===so)return t._zod.parse=i,t._zod.run===a&&(t._zod.run=i),i(c,u);w===io||o?r=!0:o=!0}let l=c.value;if(!Md(l))return i(c,u);let f=u[_a];f||(f={buckets:new WeakMap,backEdges:void 0},u[_a]=f);let d;n===u?d=s:(d=kb(f,t),n=u,s=d);let p=d.get(l);if(p)return c.value=p.value,p.issues?p.issues.length&&c.issues.push(...ga(p.issues)):(c.memo=!0,f.backEdges??(f.backEdges=new WeakSet),f.backEdges.add(p.value)),c;Nn=d;let h=Ln.length,g=i(c,u);Nn=void 0;let m=Ln.length>h?Ln.pop():void 0;return g instanceof Promise?g.then(w=>(m&&(m.issues=w.issues.length?ga(w.issues):Od),w)):(m&&(m.issues=g.issues.length?ga(g.issues):Od),g)};t._zod.parse=a,t._zod.run===i&&(t._zod.run=a)})}};function xa(){return Eb}function Ab(t,e){let r=t[_a]?.backEdges;return r!==void 0&&Md(e)&&r.has(e)}var Tb=()=>{let t={string:{unit:"characters",verb:"to have"},file:{unit:"bytes",verb:"to have"},array:{unit:"items",verb:"to have"},set:{unit:"items",verb:"to have"},map:{unit:"entries",verb:"to have"}};function e(s){return t[s]??null}let r={regex:"input",email:"email address",url:"URL",emoji:"emoji",uuid:"UUID",uuidv4:"UUIDv4",uuidv6:"UUIDv6",nanoid:"nanoid",guid:"GUID",cuid:"cuid",cuid2:"cuid2",ulid:"ULID",xid:"XID",ksuid:"KSUID",datetime:"ISO datetime",date:"ISO date",time:"ISO time",duration:"ISO duration",ipv4:"IPv4 address",ipv6:"IPv6 address",mac:"MAC address",cidrv4:"IPv4 range",cidrv6:"IPv6 range",base64:"base64-encoded string",base64url:"base64url-encoded string",json_string:"JSON string",e164:"E.164 number",currency_code:"currency code",credit_card:"credit card number",iban:"IBAN",jwt:"JWT",template_literal:"input"},o={nan:"NaN"};function n(s,i){return s==="number"&&typeof i=="number"&&!Number.isFinite(i)?String(i):o[s]??s}return s=>{switch(s.code){case"invalid_type":{let i=n(s.expected),a=Yi(s.input),c=n(a,s.input);return`Invalid input: expected ${i}, received ${c}`}case"invalid_value":return s.values.length===1?`Invalid input: expected ${_n(s.values[0])}`:`Invalid option: expected one of ${gn(s.values,"|")}`;case"too_big":{let i=s.exact?"exactly ":s.inclusive?"<=":"<",a=e(s.origin);return a?`Too big: expected ${s.origin??"value"} to have ${i}${s.maximum.toString()} ${a.unit??"elements"}`:`Too big: expected ${s.origin??"value"} to be ${i}${s.maximum.toString()}`}case"too_small":{let i=s.exact?"exactly ":s.inclusive?">=":">",a=e(s.origin);return a?`Too small: expected ${s.origin} to have ${i}${s.minimum.toString()} ${a.unit}`:`Too small: expected ${s.origin} to be ${i}${s.minimum.toString()}`}case"invalid_format":{let i=s;return i.format==="starts_with"?`Invalid string: must start with "${i.prefix}"`:i.format==="ends_with"?`Invalid string: must end with "${i.suffix}"`:i.format==="includes"?`Invalid string: must include "${i.includes}"`:i.format==="regex"?`Invalid string: must match pattern ${i.pattern}`:`Invalid ${r[i.format]??s.format}`}case"not_multiple_of":return`Invalid number: must be a multiple of ${s.divisor}`;case"unrecognized_keys":return`Unrecognized key${s.keys.length>1?"s":""}: ${gn(s.keys,", ")}`;case"invalid_key":return`Invalid key in ${s.origin}`;case"invalid_union":return s.options&&Array.isArray(s.options)&&s.options.length>0?`Invalid discriminator value. Expected ${s.options.map(a=>`'${a}'`).join(" | ")}`:s.inclusive===!1?"Invalid input: more than one option matched":"Invalid input";case"invalid_element":return`Invalid value in ${s.origin}`;default:return"Invalid input"}}};function Pd(){return{localeError:Tb()}}var Id;var ya=class{constructor(){this._map=new WeakMap,this._idmap=new Map}add(e,...r){let o=r[0];return this._map.set(e,o),o&&typeof o=="object"&&"id"in o&&this._idmap.set(o.id,e),this}clear(){return this._map=new WeakMap,this._idmap=new Map,this}remove(e){let r=this._map.get(e);return r&&typeof r=="object"&&"id"in r&&this._idmap.delete(r.id),this._map.delete(e),this}get(e){let r=e._zod.parent;if(r){let o={...this.get(r)??{}};delete o.id;let n={...o,...this._map.get(e)};return Object.keys(n).length?n:void 0}return this._map.get(e)}has(e){return this._map.has(e)}};function Rd(){return new ya}(Id=globalThis).__zod_globalRegistry??(Id.__zod_globalRegistry=Rd());var Ge=globalThis.__zod_globalRegistry;function Bn(t){return t.checks&&(t.checks=[...t.checks]),t}function Nd(t,e){return new t(Bn({type:"string",...z(e)}))}function Ld(t,e){return new t(Bn({type:"string",coerce:!0,...z(e)}))}function Cd(t,e){return new t({type:"string",format:"email",check:"string_format",abort:!1,...z(e)})}function Dd(t,e){return new t({type:"string",format:"guid",check:"string_format",abort:!1,...z(e)})}function Bd(t,e){return new t({type:"string",format:"uuid",check:"string_format",abort:!1,...z(e)})}function Ud(t,e){return new t({type:"string",format:"uuid",check:"string_format",abort:!1,version:"v4",...z(e)})}function Zd(t,e){return new t({type:"string",format:"uuid",check:"string_format",abort:!1,version:"v6",...z(e)})}function qd(t,e){return new t({type:"string",format:"uuid",check:"string_format",abort:!1,version:"v7",...z(e)})}function Fd(t,e){return new t({type:"string",format:"url",check:"string_format",abort:!1,...z(e)})}function jd(t,e){return new t({type:"string",format:"emoji",check:"string_format",abort:!1,...z(e)})}function Hd(t,e){return new t({type:"string",format:"nanoid",check:"string_format",abort:!1,...z(e)})}function Kd(t,e){return new t({type:"string",format:"cuid",check:"string_format",abort:!1,...z(e)})}function Gd(t,e){return new t({type:"string",format:"cuid2",check:"string_format",abort:!1,...z(e)})}function Vd(t,e){return new t({type:"string",format:"ulid",check:"string_format",abort:!1,...z(e)})}function Wd(t,e){return new t({type:"string",format:"xid",check:"string_format",abort:!1,...z(e)})}function Yd(t,e){return new t({type:"string",format:"ksuid",check:"string_format",abort:!1,...z(e)})}function Jd(t,e){return new t({type:"string",format:"ipv4",check:"string_format",abort:!1,...z(e)})}function Xd(t,e){return new t({type:"string",format:"ipv6",check:"string_format",abort:!1,...z(e)})}function Qd(t,e){return new t({type:"string",format:"cidrv4",check:"string_format",abort:!1,...z(e)})}function ep(t,e){return new t({type:"string",format:"cidrv6",check:"string_format",abort:!1,...z(e)})}function tp(t,e){return new t({type:"string",format:"base64",check:"string_format",abort:!1,...z(e)})}function rp(t,e){return new t({type:"string",format:"base64url",check:"string_format",abort:!1,...z(e)})}function op(t,e){return new t({type:"string",format:"e164",check:"string_format",abort:!1,...z(e)})}function np(t,e){return new t({type:"string",format:"jwt",check:"string_format",abort:!1,...z(e)})}function sp(t,e){return new t({type:"string",format:"datetime",check:"string_format",offset:!1,local:!1,precision:null,...z(e)})}function ip(t,e){return new t({type:"string",format:"date",check:"string_format",...z(e)})}function ap(t,e){return new t({type:"string",format:"time",check:"string_format",precision:null,...z(e)})}function cp(t,e){return new t({type:"string",format:"duration",check:"string_format",...z(e)})}function up(t,e){return new t(Bn({type:"number",checks:[],...z(e)}))}function lp(t,e){return new t(Bn({type:"number",coerce:!0,checks:[],...z(e)}))}function fp(t,e){return new t({type:"number",check:"number_format",abort:!1,format:"safeint",...z(e)})}function dp(t,e){return new t({type:"boolean",...z(e)})}function pp(t,e){return new t({type:"boolean",coerce:!0,...z(e)})}function hp(t,e){return new t({type:"bigint",coerce:!0,...z(e)})}function mp(t){return new t({type:"unknown"})}function gp(t,e){return new t({type:"never",...z(e)})}function wp(t,e){return new t({type:"date",coerce:!0,...z(e)})}function yr(t,e){return new ua({check:"less_than",...z(e),value:t,inclusive:!1})}function wt(t,e){return new ua({check:"less_than",...z(e),value:t,inclusive:!0})}function br(t,e){return new la({check:"greater_than",...z(e),value:t,inclusive:!1})}function _t(t,e){return new la({check:"greater_than",...z(e),value:t,inclusive:!0})}function ao(t,e){return new tf({check:"multiple_of",...z(e),value:t})}function Un(t,e){return new of({check:"max_length",...z(e),maximum:t})}function vr(t,e){return new nf({check:"min_length",...z(e),minimum:t})}function Zn(t,e){return new sf({check:"length_equals",...z(e),length:t})}function ba(t,e){return new af({check:"string_format",format:"regex",...z(e),pattern:t})}function va(t){return new cf({check:"string_format",format:"lowercase",...z(t)})}function Sa(t){return new uf({check:"string_format",format:"uppercase",...z(t)})}function ka(t,e){return new lf({check:"string_format",format:"includes",...z(e),includes:t})}function Ea(t,e){return new ff({check:"string_format",format:"starts_with",...z(e),prefix:t})}function Aa(t,e){return new df({check:"string_format",format:"ends_with",...z(e),suffix:t})}function It(t){return new pf({check:"overwrite",tx:t})}function Ta(t){return It(e=>e.normalize(t))}function za(){return It(t=>t.trim())}function Oa(){return It(t=>t.toLowerCase())}function Ma(){return It(t=>t.toUpperCase())}function $a(){return It(t=>Hi(t))}function _p(t,e,r){return new t({type:"array",element:e,...z(r)})}function xp(t,e,r){return new t({type:"custom",check:"custom",fn:e,...z(r)})}function yp(t,e){let r=zb(o=>(o.addIssue=n=>{if(typeof n=="string")o.issues.push(wr(n,o.value,r._zod.def));else{let s=n;s.fatal&&(s.continue=!1),s.code??(s.code="custom"),"input"in s||(s.input=o.value),s.inst??(s.inst=r),s.continue??(s.continue=!r._zod.def.abort),o.issues.push(wr(s))}},t(o.value,o)),e);return r}function zb(t,e){let r=new ce({check:"custom",...z(e)});return r._zod.check=t,r}function co(t,...e){for(let r of e)for(let o of Reflect.ownKeys(r))Object.prototype.propertyIsEnumerable.call(r,o)&&Ie(t,o,r[o]);return t}function Ia(t){let e=t?.target??"draft-2020-12";return e==="draft-4"&&(e="draft-04"),e==="draft-7"&&(e="draft-07"),{processors:t.processors??{},metadataRegistry:t?.metadata??Ge,target:e,unrepresentable:t?.unrepresentable??"throw",override:t?.override??(()=>{}),io:t?.io??"output",counter:0,seen:new Map,sharedDefsExtractedFor:void 0,sharedEmitDoneFor:void 0,cycles:t?.cycles??"ref",reused:t?.reused??"inline",intersections:[],deferred:[],external:t?.external??void 0}}function Ve(t,e,r,o,n){let s=typeof e.unrepresentable=="function"?e.unrepresentable({zodSchema:t,path:o.path,message:n}):e.unrepresentable;if(s==="any")return!1;if(s===void 0||s==="throw")throw new Error(n);return Object.assign(r,s),!0}function X(t,e,r={path:[],schemaPath:[]}){var o;let n=t._zod.def,s=e.seen.get(t);if(s)return s.count++,r.schemaPath.includes(t)&&(s.cycle=r.path),s.schema;let i={schema:{},count:1,cycle:void 0,path:r.path};e.seen.set(t,i),e.sharedDefsExtractedFor=void 0,e.sharedEmitDoneFor=void 0;let a=t._zod.toJSONSchema?.();if(a)i.schema=a;else{let l={...r,schemaPath:[...r.schemaPath,t],path:r.path};if(t._zod.processJSONSchema)t._zod.processJSONSchema(e,i.schema,l);else{let d=i.schema,p=e.processors[n.type];if(!p)throw new Error(`[toJSONSchema]: Non-representable type encountered: ${n.type}`);p(t,e,d,l)}let f=t._zod.parent;f&&(i.ref||(i.ref=f),X(f,e,l),e.seen.get(f).isParent=!0)}let c=e.metadataRegistry.get(t);return c&&co(i.schema,c),e.io==="input"&&ge(t)&&(delete i.schema.examples,delete i.schema.default),e.io==="input"&&"_prefault"in i.schema&&((o=i.schema).default??(o.default=i.schema._prefault)),delete i.schema._prefault,e.seen.get(t).schema}function bp(t){return t.replace(/~/g,"~0").replace(/\//g,"~1")}function Ra(t,e){let r=t.seen.get(e);if(!r)throw new Error("Unprocessed schema. This is a bug in Zod.");if(t.external&&t.sharedDefsExtractedFor===t.external)return;let o=new Map;for(let i of t.seen.entries()){let a=t.metadataRegistry.get(i[0])?.id;if(a){let c=o.get(a);if(c&&c!==i[0])throw new Error(`Duplicate schema id "${a}" detected during JSON Schema conversion. Two different schemas cannot share the same id when converted together.`);o.set(a,i[0])}}let n=i=>{let a=t.target==="draft-2020-12"?"$defs":"definitions";if(t.external){let f=t.external.registry.get(i[0])?.id,d=t.external.uri??(h=>h);if(f)return{ref:d(f)};let p=i[1].defId??i[1].schema.id??`schema${t.counter++}`;return i[1].defId=p,{defId:p,ref:`${d("__shared")}#/${a}/${bp(p)}`}}let c="#",u=`${c}/${a}/`;if(i[1]===r&&!i[1].schema.id)return{ref:c};let l=i[1].schema.id??`__schema${t.counter++}`;return{defId:l,ref:u+bp(l)}},s=i=>{if(i[1].schema.$ref)return;let a=i[1],{ref:c,defId:u}=n(i);a.def={...a.schema},u&&(a.defId=u);let l=a.schema;for(let f in l)delete l[f];l.$ref=c};if(t.cycles==="throw")for(let i of t.seen.entries()){let a=i[1];if(a.cycle)throw new Error(`Cycle detected: #/${a.cycle?.join("/")}/<root>

Set the \`cycles\` parameter to \`"ref"\` to resolve cyclical schemas with defs.`)}for(let i of t.seen.entries()){let a=i[1];if(e===i[0]){s(i);continue}if(t.external){let u=t.external.registry.get(i[0])?.id;if(e!==i[0]&&u){s(i);continue}}if(t.metadataRegistry.get(i[0])?.id){s(i);continue}if(a.cycle){s(i);continue}a.count>1&&t.reused==="ref"&&s(i)}t.external&&(t.sharedDefsExtractedFor=t.external)}function kp(t){let e=t.anyOf;if(!Array.isArray(e)||e.length===0||t.type!==void 0)return;let r=[];for(let o of e){if(!o||typeof o!="object")return;kp(o);let n=Object.keys(o);if(n.length!==1||n[0]!=="type")return;let s=o.type;for(let i of Array.isArray(s)?s:[s]){if(typeof i!="string")return;r.includes(i)||r.push(i)}}delete t.anyOf,t.type=r.length===1?r[0]:r}var Ep=new Set(["type","properties","required","additionalProperties"]),vp=["oneOf","anyOf"];function Sp(t){let e=t.additionalProperties;return e===void 0||e===!1||typeof e!="object"||e===null?null:Object.keys(e).length?e:null}function Pa(t){let e=[];for(let s of t){if(typeof s!="object"||s.type!=="object")return null;for(let i in s)if(!Ep.has(i))return null;e.push(s)}let r={},o=new Set;for(let s of e){for(let i in s.properties){if(Object.prototype.hasOwnProperty.call(r,i))continue;let a=[];for(let u of e){let l=u.properties?.[i]??Sp(u);l!=null&&(a.some(f=>JSON.stringify(f)===JSON.stringify(l))||a.push(l))}let c=a.length===1?a[0]:Pa(a)??{allOf:a};Ie(r,i,c)}for(let i of s.required??[])o.add(i)}let n={type:"object",properties:r};if(o.size&&(n.required=[...o]),e.every(s=>s.additionalProperties===!1))n.additionalProperties=!1;else{let s=[];for(let i of e){let a=Sp(i);a&&!s.some(c=>JSON.stringify(c)===JSON.stringify(a))&&s.push(a)}s.length===1?n.additionalProperties=s[0]:s.length>1&&(n.additionalProperties={allOf:s})}return n}function Ob(t){let e=t.allOf;if(!Array.isArray(e)||e.length<2)return;for(let n of Ep)if(n in t)return;let r=e.filter(n=>vp.some(s=>Array.isArray(n[s]))),o=null;if(!r.length)o=Pa(e);else{let n=r[0],s=vp.find(c=>Array.isArray(n[c]));if(Object.keys(n).length!==1)return;let i=e.filter(c=>c!==n),a=n[s].map(c=>Pa([...i,c]));if(a.some(c=>!c))return;o={[s]:a}}o&&(delete t.allOf,co(t,o))}function Na(t,e){let r=t.seen.get(e);if(!r)throw new Error("Unprocessed schema. This is a bug in Zod.");let o=a=>{let c=t.seen.get(a);if(c.ref===null)return;let u=c.def??c.schema,l={...u},f=c.ref;if(c.ref=null,f){o(f);let p=t.seen.get(f),h=p.schema;if(h.$ref&&(t.target==="draft-07"||t.target==="draft-04"||t.target==="openapi-3.0")?(u.allOf=u.allOf??[],u.allOf.push(h)):co(u,h),co(u,l),a._zod.parent===f)for(let m in u)m==="$ref"||m==="allOf"||m in l||delete u[m];if(h.$ref&&p.def)for(let m in u)m==="$ref"||m==="allOf"||m in p.def&&JSON.stringify(u[m])===JSON.stringify(p.def[m])&&delete u[m]}let d=a._zod.parent;if(d&&d!==f){o(d);let p=t.seen.get(d);if(p?.schema.$ref&&(u.$ref=p.schema.$ref,p.def))for(let h in u)h==="$ref"||h==="allOf"||h in p.def&&JSON.stringify(u[h])===JSON.stringify(p.def[h])&&delete u[h]}t.override({zodSchema:a,jsonSchema:u,path:c.path??[]})};if(!t.external||t.sharedEmitDoneFor!==t.external){for(let a of[...t.seen.entries()].reverse())o(a[0]);if(t.target!=="openapi-3.0")for(let a of t.seen.entries())kp(a[1].def??a[1].schema);for(let a of t.deferred)a();if(t.intersections.length){let a=new Map;for(let c of t.seen.values())for(let u of[c.schema,c.def]){let l=u?.allOf;if(!Array.isArray(l))continue;let f=a.get(l);f?f.push(u):a.set(l,[u])}for(let c of t.intersections)for(let u of a.get(c)??[])Ob(u)}}let n={};if(t.target==="draft-2020-12"?n.$schema="https://json-schema.org/draft/2020-12/schema":t.target==="draft-07"?n.$schema="http://json-schema.org/draft-07/schema#":t.target==="draft-04"?n.$schema="http://json-schema.org/draft-04/schema#":t.target,t.external?.uri){let a=t.external.registry.get(e)?.id;if(!a)throw new Error("Schema is missing an `id` property");n.$id=t.external.uri(a)}co(n,r.defId?r.schema:r.def??r.schema);let s=t.metadataRegistry.get(e)?.id;s!==void 0&&n.id===s&&delete n.id;let i=t.external?.defs??{};if(!t.external||t.sharedEmitDoneFor!==t.external)for(let a of t.seen.entries()){let c=a[1];c.def&&c.defId&&(c.def.id===c.defId&&delete c.def.id,Ie(i,c.defId,c.def))}t.external&&(t.sharedEmitDoneFor=t.external),t.external||Object.keys(i).length>0&&(t.target==="draft-2020-12"?n.$defs=i:n.definitions=i);try{let a=JSON.parse(JSON.stringify(n));return Object.defineProperty(a,"~standard",{value:{...e["~standard"],jsonSchema:{input:uo(e,"input",t.processors),output:uo(e,"output",t.processors)}},enumerable:!1,writable:!1}),a}catch{throw new Error("Error converting schema to JSON.")}}function ge(t,e){let r=e??{seen:new Set};if(r.seen.has(t))return!1;r.seen.add(t);let o=t._zod.def;if(o.type==="transform")return!0;if(o.type==="array")return ge(o.element,r);if(o.type==="set")return ge(o.valueType,r);if(o.type==="lazy")return ge(o.getter(),r);if(o.type==="promise"||o.type==="optional"||o.type==="nonoptional"||o.type==="nullable"||o.type==="readonly"||o.type==="default"||o.type==="prefault"||o.type==="catch")return ge(o.innerType,r);if(o.type==="intersection")return ge(o.left,r)||ge(o.right,r);if(o.type==="record"||o.type==="map")return ge(o.keyType,r)||ge(o.valueType,r);if(o.type==="pipe")return t._zod.traits.has("$ZodCodec")?!0:ge(o.in,r)||ge(o.out,r);if(o.type==="object"){for(let n in o.shape)if(ge(o.shape[n],r))return!0;return!1}if(o.type==="union"){for(let n of o.options)if(ge(n,r))return!0;return!1}if(o.type==="tuple"){for(let n of o.items)if(ge(n,r))return!0;return!!(o.rest&&ge(o.rest,r))}return!1}var Ap=(t,e={})=>r=>{let o=Ia({...r,processors:e});return X(t,o),Ra(o,t),Na(o,t)},uo=(t,e,r={})=>o=>{let{libraryOptions:n,target:s}=o??{},i=Ia({...n??{},target:s,io:e,processors:r});return X(t,i),Ra(i,t),Na(i,t)};var Sr=(t,e,r)=>{(t[e]===void 0||r>t[e])&&(t[e]=r)},kr=(t,e,r)=>{(t[e]===void 0||r<t[e])&&(t[e]=r)},Tp=(t,e)=>{Sr(t,"minimum",e),kr(t,"maximum",e)},$p=(t,e)=>{t.multipleOf??(t.multipleOf=[]),t.multipleOf.includes(e)||t.multipleOf.push(e)},Pp=(t,e)=>{t.patterns??(t.patterns=new Set),t.patterns.add(e)},Ip=(t,e)=>{t.mime=t.mime?t.mime.filter(r=>e.includes(r)):[...e]},Rp=(t,e)=>{t.format=e,e.includes("int")&&(t.isInt=!0)},zp=(t,e)=>Sr(t,"minimum",e.minimum),Op=(t,e)=>kr(t,"maximum",e.maximum),Mp=t=>(e,r)=>{Rp(e,r.format);let[o,n]=t[r.format];Sr(e,"minimum",o),kr(e,"maximum",n)},Mb={greater_than:(t,e)=>Sr(t,e.inclusive?"minimum":"exclusiveMinimum",e.value),less_than:(t,e)=>kr(t,e.inclusive?"maximum":"exclusiveMaximum",e.value),multiple_of:(t,e)=>$p(t,e.value),number_format:Mp(Qr),bigint_format:Mp(xn),min_length:zp,max_length:Op,length_equals:(t,e)=>Tp(t,e.length),min_size:zp,max_size:Op,size_equals:(t,e)=>Tp(t,e.size),string_format:(t,e)=>{Rp(t,e.format),e.pattern&&Pp(t,e.pattern),(e.format==="base64"||e.format==="base64url")&&(t.contentEncoding=e.format),(e.local||e.precision===-1)&&(t.laxFormat=!0)},mime_type:(t,e)=>Ip(t,e.mime)};function ne(t){let e={},r=t._zod.def,o=t._zod.traits.has("$ZodCheck")?[t,...r.checks??[]]:r.checks??[];for(let s of o)Mb[s._zod.def.check]?.(e,s._zod.def);let n=t._zod.bag;n.minimum!==void 0&&Sr(e,"minimum",n.minimum),n.exclusiveMinimum!==void 0&&Sr(e,"exclusiveMinimum",n.exclusiveMinimum),n.maximum!==void 0&&kr(e,"maximum",n.maximum),n.exclusiveMaximum!==void 0&&kr(e,"exclusiveMaximum",n.exclusiveMaximum),n.multipleOf!==void 0&&$p(e,n.multipleOf),n.format!==void 0&&(e.format??(e.format=n.format),n.format.includes("int")&&(e.isInt=!0)),n.mime&&Ip(e,n.mime);for(let s of n.patterns??[])Pp(e,s);return e}var $b={guid:"uuid",url:"uri",datetime:"date-time",json_string:"json-string",regex:""},Pb=new Map([[pa,ql],[Rn,Fl]]),Np=t=>Pb.get(t)??t,Lp=(t,e,r,o)=>{let n=r;n.type="string";let{minimum:s,maximum:i,format:a,patterns:c,contentEncoding:u,laxFormat:l}=ne(t);if(typeof s=="number"&&(n.minLength=s),typeof i=="number"&&(n.maxLength=i),a&&(n.format=$b[a]??a,n.format===""&&delete n.format,(a==="time"||l)&&delete n.format),u&&(n.contentEncoding=u),c&&c.size>0){let f=[...c].map(Np);f.length===1?n.pattern=f[0].source:f.length>1&&(n.allOf=[...f.map(d=>({...e.target==="draft-07"||e.target==="draft-04"||e.target==="openapi-3.0"?{type:"string"}:{},pattern:d.source}))])}},Cp=(t,e,r,o)=>{let n=r,{minimum:s,maximum:i,multipleOf:a,exclusiveMaximum:c,exclusiveMinimum:u,isInt:l}=ne(t);n.type=l?"integer":"number";let f=typeof u=="number"&&u>=(s??Number.NEGATIVE_INFINITY),d=typeof c=="number"&&c<=(i??Number.POSITIVE_INFINITY),p=e.target==="draft-04"||e.target==="openapi-3.0";if(f?p?(n.minimum=u,n.exclusiveMinimum=!0):n.exclusiveMinimum=u:typeof s=="number"&&(n.minimum=s),d?p?(n.maximum=c,n.exclusiveMaximum=!0):n.exclusiveMaximum=c:typeof i=="number"&&(n.maximum=i),a){let h=new Set;for(let w of a)Number.isFinite(w)&&w!==0?h.add(Math.abs(w)):Ve(t,e,n,o,`A multipleOf divisor of ${w} cannot be represented in JSON Schema`);let[g,...m]=h;g!==void 0&&(n.multipleOf=g),m.length&&(n.allOf=[...n.allOf??[],...m.map(w=>({multipleOf:w}))])}},Dp=(t,e,r,o)=>{r.type="boolean"},Bp=(t,e,r,o)=>{Ve(t,e,r,o,"BigInt cannot be represented in JSON Schema")};var Up=(t,e,r,o)=>{r.not={}};var Zp=(t,e,r,o)=>{},qp=(t,e,r,o)=>{Ve(t,e,r,o,"Date cannot be represented in JSON Schema")},Fp=(t,e,r,o)=>{let n=t._zod.def,s=mr(n.entries);if(s.length===0){r.not={};return}s.every(i=>typeof i=="number")&&(r.type="number"),s.every(i=>typeof i=="string")&&(r.type="string"),r.enum=s},jp=(t,e,r,o)=>{let n=t._zod.def;if(n.values.length===0){r.not={};return}let s=[];for(let i of n.values)if(i===void 0){if(Ve(t,e,r,o,"Literal `undefined` cannot be represented in JSON Schema"))return}else if(typeof i=="bigint"){if(Ve(t,e,r,o,"BigInt literals cannot be represented in JSON Schema"))return;s.push(Number(i))}else s.push(i);if(s.length!==0)if(s.length===1){let i=s[0];r.type=i===null?"null":typeof i,e.target==="draft-04"||e.target==="openapi-3.0"?r.enum=[i]:r.const=i}else s.every(i=>typeof i=="number")&&(r.type="number"),s.every(i=>typeof i=="string")&&(r.type="string"),s.every(i=>typeof i=="boolean")&&(r.type="boolean"),s.every(i=>i===null)&&(r.type="null"),r.enum=s};var Hp=(t,e,r,o)=>{Ve(t,e,r,o,"Custom types cannot be represented in JSON Schema")};var Kp=(t,e,r,o)=>{Ve(t,e,r,o,"Transforms cannot be represented in JSON Schema")};var Gp=(t,e,r,o)=>{let n=r,s=t._zod.def,{minimum:i,maximum:a}=ne(t);typeof i=="number"&&(n.minItems=i),typeof a=="number"&&(n.maxItems=a),n.type="array",n.items=X(s.element,e,{...o,path:[...o.path,"items"]})};function lo(t){let e=t._zod.def;return e.type==="pipe"&&e.in._zod.traits.has("$ZodTransform")?lo(e.out):e.type==="catch"?lo(e.innerType):t._zod.optin}var Vp=(t,e,r,o)=>{let n=r,s=t._zod.def,i=s.shape;if(Object.getOwnPropertySymbols(i).length&&Ve(t,e,n,o,"Symbol keys cannot be represented in JSON Schema"))return;n.type="object",n.properties={};for(let u in i)Ie(n.properties,u,X(i[u],e,{...o,path:[...o.path,"properties",u]}));let c=[];for(let u of Object.keys(i)){let l=s.shape[u];(e.io==="input"?lo(l)===void 0:l._zod.optout===void 0)&&c.push(u)}c.length>0&&(n.required=c),s.catchall?._zod.def.type==="never"?n.additionalProperties=!1:s.catchall?s.catchall&&(n.additionalProperties=X(s.catchall,e,{...o,path:[...o.path,"additionalProperties"]})):e.io==="output"&&(n.additionalProperties=!1)},Wp=(t,e,r,o)=>{let n=t._zod.def,s=n.inclusive===!1,i=n.options.map((a,c)=>X(a,e,{...o,path:[...o.path,s?"oneOf":"anyOf",c]}));s?r.oneOf=i:r.anyOf=i},Yp=(t,e,r,o)=>{let n=t._zod.def,s=X(n.left,e,{...o,path:[...o.path,"allOf",0]}),i=X(n.right,e,{...o,path:[...o.path,"allOf",1]}),a=u=>"allOf"in u&&Object.keys(u).length===1,c=[...a(s)?s.allOf:[s],...a(i)?i.allOf:[i]];r.allOf=c,e.intersections.push(c)},Jp=(t,e,r,o)=>{let n=r,s=t._zod.def;n.type="array";let i=e.target==="draft-2020-12"?"prefixItems":"items",a=e.target==="draft-2020-12"||e.target==="openapi-3.0"?"items":"additionalItems",c=s.items.map((g,m)=>X(g,e,{...o,path:[...o.path,i,m]})),u=s.rest?X(s.rest,e,{...o,path:[...o.path,a,...e.target==="openapi-3.0"?[s.items.length]:[]]}):null,l=s.items.length;for(;l>0;){let g=s.items[l-1];if(!(e.io==="input"?lo(g)!==void 0:g._zod.optout==="optional"))break;l--}let f=s.items.length,d=!s.rest;e.target==="draft-2020-12"?(n.prefixItems=c,d?n.items=!1:u&&(n.items=u),l>0&&(n.minItems=l),d&&(n.maxItems=f)):e.target==="openapi-3.0"?(n.items={anyOf:c},u&&n.items.anyOf.push(u),l>0&&(n.minItems=l),d&&(n.maxItems=f)):(n.items=c,d?n.additionalItems=!1:u&&(n.additionalItems=u),l>0&&(n.minItems=l),d&&(n.maxItems=f));let{minimum:p,maximum:h}=ne(t);typeof p=="number"&&(n.minItems=p),typeof h=="number"&&(n.maxItems=h)};function La(t,e,r){if(e.$ref){if(r.has(e))return e;r.add(e);let h=t.get(e)?.def;if(!h)return e;let g=La(t,h,r);return g===h?e:g}for(let h of["anyOf","oneOf"]){let g=e[h];if(!Array.isArray(g))continue;let m=g.map(w=>La(t,w,r));m.some((w,_)=>w!==g[_])&&(e={...e,[h]:m})}let o=Array.isArray(e.type)?e.type:[e.type],n=!o.includes("string")&&o.some(h=>h==="number"||h==="integer"),s=e.enum??(e.const!==void 0?[e.const]:void 0);if(!n&&!s?.some(h=>typeof h=="number"))return e;let{minimum:i,maximum:a,exclusiveMinimum:c,exclusiveMaximum:u,multipleOf:l,format:f,id:d,...p}=e;return p.enum?p.enum=p.enum.map(h=>typeof h=="number"?String(h):h):typeof p.const=="number"&&(p.const=String(p.const)),n&&(p.type="string",s||(p.pattern=(o.includes("number")?oo:aa).source)),p}var Ca=new WeakMap;function Ib(t){let e=new Map;for(let o of t.seen.values())o.def&&!e.has(o.schema)&&e.set(o.schema,o);let r=new Map;for(let o of Ca.get(t)??[]){let n=t.seen.get(o),s=(n?.def??n?.schema)?.propertyNames;if(!s||s===!0||r.has(s))continue;let i=La(e,s,new Set);i!==s&&r.set(s,i)}if(r.size)for(let o of t.seen.values())for(let n of[o.schema,o.def]){let s=n&&r.get(n.propertyNames);s&&(n.propertyNames=s)}}var Xp=(t,e,r,o)=>{let n=r,s=t._zod.def;n.type="object";let i=s.keyType,a=ne(i).patterns;if(s.mode==="loose"&&a&&a.size>0){let l=X(s.valueType,e,{...o,path:[...o.path,"patternProperties","*"]});n.patternProperties={};for(let f of a)Ie(n.patternProperties,Np(f).source,l)}else{if(e.target==="draft-07"||e.target==="draft-2020-12"){n.propertyNames=X(s.keyType,e,{...o,path:[...o.path,"propertyNames"]});let l=Ca.get(e);l||(l=[],Ca.set(e,l),e.deferred.push(()=>Ib(e))),l.push(t)}n.additionalProperties=X(s.valueType,e,{...o,path:[...o.path,"additionalProperties"]})}let c=i._zod.values,u=e.io==="input"&&lo(s.valueType)!==void 0;if(c&&!s.partial&&!u){let l=[...c].filter(f=>typeof f=="string"||typeof f=="number");l.length>0&&(n.required=l.map(String))}},Qp=(t,e,r,o)=>{let n=t._zod.def,s=X(n.innerType,e,o),i=e.seen.get(t);e.target==="openapi-3.0"?(i.ref=n.innerType,r.nullable=!0):r.anyOf=[s,{type:"null"}]},eh=(t,e,r,o)=>{let n=t._zod.def;X(n.innerType,e,o);let s=e.seen.get(t);s.ref=n.innerType},Da=Symbol();function th(t,e,r,o,n){let s=!1,i=JSON.stringify(t,(a,c)=>typeof c!="bigint"?c:(s=!0,null));return s?(Ve(e,r,o,n,"BigInt defaults cannot be represented in JSON Schema"),Da):JSON.parse(i)}var rh=(t,e,r,o)=>{let n=t._zod.def;X(n.innerType,e,o);let s=e.seen.get(t);s.ref=n.innerType;let i=th(n.defaultValue,t,e,r,o);i!==Da&&(r.default=i)},oh=(t,e,r,o)=>{let n=t._zod.def;X(n.innerType,e,o);let s=e.seen.get(t);if(s.ref=n.innerType,e.io!=="input")return;let i=th(n.defaultValue,t,e,r,o);i!==Da&&(r._prefault=i)},nh=(t,e,r,o)=>{let n=t._zod.def;X(n.innerType,e,o);let s=e.seen.get(t);s.ref=n.innerType;let i;try{i=n.catchValue(void 0)}catch{Ve(t,e,r,o,"Dynamic catch values are not supported in JSON Schema");return}r.default=i},sh=(t,e,r,o)=>{let n=t._zod.def,s=n.in._zod.traits.has("$ZodTransform"),i=e.io==="input"?s?n.out:n.in:n.out;X(i,e,o);let a=e.seen.get(t);a.ref=i},ih=(t,e,r,o)=>{let n=t._zod.def;X(n.innerType,e,o);let s=e.seen.get(t);s.ref=n.innerType,r.readOnly=!0};var Ba=(t,e,r,o)=>{let n=t._zod.def;X(n.innerType,e,o);let s=e.seen.get(t);s.ref=n.innerType};var ah=new WeakSet([Object.prototype,Error.prototype]);function qn(t,e,r){Object.defineProperty(t,e,{configurable:!0,enumerable:!1,get(){let o=r(this);return Object.defineProperty(this,e,{value:o,configurable:!0,writable:!0}),o},set(o){Object.defineProperty(this,e,{value:o,configurable:!0,writable:!0})}})}var ch=(t,e)=>{wl.init(t,e),t.name="ZodError";let r=Object.getPrototypeOf(t);ah.has(r)||(ah.add(r),qn(r,"format",o=>n=>ra(o,n)),qn(r,"flatten",o=>n=>ta(o,n)),qn(r,"addIssue",o=>n=>{o.issues.push(n),o.message=JSON.stringify(o.issues,gr,2)}),qn(r,"addIssues",o=>n=>{o.issues.push(...n),o.message=JSON.stringify(o.issues,gr,2)}),Object.defineProperty(r,"isEmpty",{configurable:!0,enumerable:!1,get(){return this.issues.length===0}}))},Fn=x("ZodError",ch),Ae=x("ZodError",ch,void 0,{Parent:Error});var uh=kn(Ae),lh=En(Ae),fh=An(Ae),dh=Tn(Ae),ph=xl(Ae),hh=yl(Ae),mh=bl(Ae),gh=vl(Ae),wh=Sl(Ae),_h=kl(Ae),xh=El(Ae),yh=Al(Ae);function Fb(){me.localeError||_e(Pd())}function ho(){me.memoizer||_e({memoizer:xa()})}var G=x("ZodType",(t,e)=>(Fb(),H.init(t,e),t.def=e,t.type=e.type,t),{check(...t){let e=this.def;return this.clone($.mergeDefs(e,{checks:[...e.checks??[],...t.map(r=>typeof r=="function"?{_zod:{check:r,def:{check:"custom"},onattach:[]}}:r)]}),{parent:!0})},with(...t){return this.check(...t)},clone(t,e){return Re(this,t,e)},brand(){return this},register(t,e){return t.add(this,e),this},refine(t,e){return this.check(M0(t,e))},superRefine(t,e){return this.check($0(t,e))},overwrite(t){return this.check(It(t))},optional(){return Hn(this)},exactOptional(){return y0(this)},nullable(){return Kn(this)},nullish(){return Hn(Kn(this))},nonoptional(t){return S0(this,t)},array(){return U(this)},or(t){return Ha([this,t])},and(t){return g0(this,t)},transform(t){return vh(this,x0(t))},default(t){return b0(this,t)},prefault(t){return v0(this,t)},catch(t){return E0(this,t)},pipe(t){return vh(this,t)},readonly(){return z0(this)},describe(t){let e=this.clone();return Ge.add(e,{description:t}),e},meta(...t){if(t.length===0)return Ge.get(this);let e=this.clone();return Ge.add(e,t[0]),e},isOptional(){return this.safeParse(void 0).success},isNullable(){return this.safeParse(null).success},apply(t,...e){return e.length===0?t(this):t(this,...e)},get"~standard"(){return $.hide(this,"~standard",{...da(this),jsonSchema:{input:uo(this,"input"),output:uo(this,"output")}})},set"~standard"(t){$.own(this,"~standard",t)},parse:function t(e,r){return uh(this,e,r,{callee:t})},parseAsync:async function t(e,r){return await lh(this,e,r,{callee:t})},safeParse(t,e){return fh(this,t,e)},async safeParseAsync(t,e){return dh(this,t,e)},get spa(){return this?.safeParseAsync},set spa(t){$.own(this,"spa",t)},validate(t,e){return oa(this,t,e)},validateAsync(t,e){return na(this,t,e)},encode:function t(e,r){return ph(this,e,r,{callee:t})},decode:function t(e,r){return hh(this,e,r,{callee:t})},encodeAsync:async function t(e,r){return await mh(this,e,r,{callee:t})},decodeAsync:async function t(e,r){return await gh(this,e,r,{callee:t})},safeEncode(t,e){return wh(this,t,e)},safeDecode(t,e){return _h(this,t,e)},async safeEncodeAsync(t,e){return xh(this,t,e)},async safeDecodeAsync(t,e){return yh(this,t,e)},toJSONSchema(t){return Ap(this,{})(t)},get description(){return Ge.get(this)?.description},get _def(){return this._zod.def}}),Sh=x("_ZodString",(t,e)=>{In.init(t,e),G.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Lp(t,r,o,n)},$.derived({format:t=>ne(t).format??null,minLength:t=>ne(t).minimum??null,maxLength:t=>ne(t).maximum??null},{regex(...t){return this.check(ba(...t))},includes(...t){return this.check(ka(...t))},startsWith(...t){return this.check(Ea(...t))},endsWith(...t){return this.check(Aa(...t))},min(...t){return this.check(vr(...t))},max(...t){return this.check(Un(...t))},length(...t){return this.check(Zn(...t))},nonempty(...t){return this.check(vr(1,...t))},lowercase(t){return this.check(va(t))},uppercase(t){return this.check(Sa(t))},trim(){return this.check(za())},normalize(...t){return this.check(Ta(...t))},toLowerCase(){return this.check(Oa())},toUpperCase(){return this.check(Ma())},slugify(){return this.check($a())}})),Za=x("ZodString",(t,e)=>{In.init(t,e),Sh.init(t,e)},{email(t){return this.check(Cd(Vb,t))},url(t){return this.check(Fd(Yb,t))},jwt(t){return this.check(np(f0,t))},emoji(t){return this.check(jd(Jb,t))},guid(t){return this.check(Dd(Wb,t))},uuid(t){return this.check(Bd(jn,t))},uuidv4(t){return this.check(Ud(jn,t))},uuidv6(t){return this.check(Zd(jn,t))},uuidv7(t){return this.check(qd(jn,t))},nanoid(t){return this.check(Hd(Xb,t))},cuid(t){return this.check(Kd(Qb,t))},cuid2(t){return this.check(Gd(e0,t))},ulid(t){return this.check(Vd(t0,t))},base64(t){return this.check(tp(c0,t))},base64url(t){return this.check(rp(u0,t))},xid(t){return this.check(Wd(r0,t))},ksuid(t){return this.check(Yd(o0,t))},ipv4(t){return this.check(Jd(n0,t))},ipv6(t){return this.check(Xd(s0,t))},cidrv4(t){return this.check(Qd(i0,t))},cidrv6(t){return this.check(ep(a0,t))},e164(t){return this.check(op(l0,t))},datetime(t){return this.check(sp(jb,t))},date(t){return this.check(ip(Hb,t))},time(t){return this.check(ap(Kb,t))},duration(t){return this.check(cp(Gb,t))}});function O(t){return Nd(Za,t)}var Q=x("ZodStringFormat",(t,e)=>{W.init(t,e),Sh.init(t,e)}),jb=x("ZodISODateTime",(t,e)=>{Ff.init(t,e),Q.init(t,e)}),Hb=x("ZodISODate",(t,e)=>{jf.init(t,e),Q.init(t,e)}),Kb=x("ZodISOTime",(t,e)=>{Hf.init(t,e),Q.init(t,e)}),Gb=x("ZodISODuration",(t,e)=>{Kf.init(t,e),Q.init(t,e)}),Vb=x("ZodEmail",(t,e)=>{Pf.init(t,e),Q.init(t,e)});var Wb=x("ZodGUID",(t,e)=>{Mf.init(t,e),Q.init(t,e)});var jn=x("ZodUUID",(t,e)=>{$f.init(t,e),Q.init(t,e)});var Yb=x("ZodURL",(t,e)=>{Nf.init(t,e),Q.init(t,e)});var Jb=x("ZodEmoji",(t,e)=>{Lf.init(t,e),Q.init(t,e)});var Xb=x("ZodNanoID",(t,e)=>{Cf.init(t,e),Q.init(t,e)});var Qb=x("ZodCUID",(t,e)=>{Df.init(t,e),Q.init(t,e)});var e0=x("ZodCUID2",(t,e)=>{Bf.init(t,e),Q.init(t,e)});var t0=x("ZodULID",(t,e)=>{Uf.init(t,e),Q.init(t,e)});var r0=x("ZodXID",(t,e)=>{Zf.init(t,e),Q.init(t,e)});var o0=x("ZodKSUID",(t,e)=>{qf.init(t,e),Q.init(t,e)});var n0=x("ZodIPv4",(t,e)=>{Gf.init(t,e),Q.init(t,e)});var s0=x("ZodIPv6",(t,e)=>{Wf.init(t,e),Q.init(t,e)});var i0=x("ZodCIDRv4",(t,e)=>{Yf.init(t,e),Q.init(t,e)});var a0=x("ZodCIDRv6",(t,e)=>{Jf.init(t,e),Q.init(t,e)});var c0=x("ZodBase64",(t,e)=>{Qf.init(t,e),Q.init(t,e)});var u0=x("ZodBase64URL",(t,e)=>{ed.init(t,e),Q.init(t,e)});var l0=x("ZodE164",(t,e)=>{td.init(t,e),Q.init(t,e)});var f0=x("ZodJWT",(t,e)=>{rd.init(t,e),Q.init(t,e)});var Gn=x("ZodNumber",(t,e)=>{ha.init(t,e),G.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Cp(t,r,o,n),t.isFinite=!0},$.derived({minValue:t=>{let{minimum:e,exclusiveMinimum:r}=ne(t);return Math.max(e??Number.NEGATIVE_INFINITY,r??Number.NEGATIVE_INFINITY)},maxValue:t=>{let{maximum:e,exclusiveMaximum:r}=ne(t);return Math.min(e??Number.POSITIVE_INFINITY,r??Number.POSITIVE_INFINITY)},isInt:t=>{let{isInt:e,multipleOf:r}=ne(t);return!!e||!!r?.some(Number.isSafeInteger)},format:t=>ne(t).format??null},{gt(t,e){return this.check(br(t,e))},gte(t,e){return this.check(_t(t,e))},min(t,e){return this.check(_t(t,e))},lt(t,e){return this.check(yr(t,e))},lte(t,e){return this.check(wt(t,e))},max(t,e){return this.check(wt(t,e))},int(t){return this.check(P(t))},safe(t){return this.check(P(t))},positive(t){return this.check(br(0,t))},nonnegative(t){return this.check(_t(0,t))},negative(t){return this.check(yr(0,t))},nonpositive(t){return this.check(wt(0,t))},multipleOf(t,e){return this.check(ao(t,e))},step(t,e){return this.check(ao(t,e))},finite(){return this}}));function v(t){return up(Gn,t)}var d0=x("ZodNumberFormat",(t,e)=>{od.init(t,e),Gn.init(t,e)});function P(t){return fp(d0,t)}var qa=x("ZodBoolean",(t,e)=>{nd.init(t,e),G.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Dp(t,r,o,n)});function ot(t){return dp(qa,t)}var kh=x("ZodBigInt",(t,e)=>{sd.init(t,e),G.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Bp(t,r,o,n)},$.derived({minValue:t=>ne(t).minimum??null,maxValue:t=>ne(t).maximum??null,format:t=>ne(t).format??null},{gte(t,e){return this.check(_t(t,e))},min(t,e){return this.check(_t(t,e))},gt(t,e){return this.check(br(t,e))},lt(t,e){return this.check(yr(t,e))},lte(t,e){return this.check(wt(t,e))},max(t,e){return this.check(wt(t,e))},positive(t){return this.check(br(BigInt(0),t))},negative(t){return this.check(yr(BigInt(0),t))},nonpositive(t){return this.check(wt(BigInt(0),t))},nonnegative(t){return this.check(_t(BigInt(0),t))},multipleOf(t,e){return this.check(ao(t,e))}}));var p0=x("ZodUnknown",(t,e)=>{id.init(t,e),G.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Zp(t,r,o,n)});function po(){return mp(p0)}var h0=x("ZodNever",(t,e)=>{ad.init(t,e),G.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Up(t,r,o,n)});function Eh(t){return gp(h0,t)}var Ah=x("ZodDate",(t,e)=>{cd.init(t,e),G.init(t,e),t._zod.processJSONSchema=(r,o,n)=>qp(t,r,o,n),t.min=(r,o)=>t.check(_t(r,o)),t.max=(r,o)=>t.check(wt(r,o))},$.derived({minDate:t=>{let{minimum:e}=ne(t);return e?new Date(e):null},maxDate:t=>{let{maximum:e}=ne(t);return e?new Date(e):null}},{}));var Fa=x("ZodArray",(t,e)=>{ho(),ud.init(t,e),G.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Gp(t,r,o,n),t.element=e.element},{min(t,e){return this.check(vr(t,e))},nonempty(t){return this.check(vr(1,t))},max(t,e){return this.check(Un(t,e))},length(t,e){return this.check(Zn(t,e))},unwrap(){return this.element}});function U(t,e){return _p(Fa,t,e)}var Rt=x("ZodObject",(t,e)=>{ho(),dd.init(t,e),G.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Vp(t,r,o,n),$.installLazyProp(t,"shape",r=>r._zod.def.shape,!1)},{keyof(){return Ne(Object.keys(this._zod.def.shape))},catchall(t){return this.clone($.mergeDefs(this._zod.def,{catchall:t}))},passthrough(){return this.clone($.mergeDefs(this._zod.def,{catchall:po()}))},loose(){return this.clone($.mergeDefs(this._zod.def,{catchall:po()}))},strict(){return this.clone($.mergeDefs(this._zod.def,{catchall:Eh()}))},strip(){return this.clone($.mergeDefs(this._zod.def,{catchall:void 0}))},extend(t){return $.extend(this,t)},safeExtend(t){return $.safeExtend(this,t)},merge(t){return $.merge(this,t)},pick(t){return $.pick(this,t)},omit(t){return $.omit(this,t)},partial(...t){return $.partial(Ht,this,t[0])},exactPartial(...t){return $.partial(Oh,this,t[0],"exactPartial")},required(...t){return $.required(Mh,this,t[0])}});function I(t,e){let r={type:"object",shape:t??{},...$.normalizeParams(e)};return new Rt(r)}function Nt(t,e){return new Rt({type:"object",shape:t,catchall:Eh(),...$.normalizeParams(e)})}function Th(t,e){return new Rt({type:"object",shape:t,catchall:po(),...$.normalizeParams(e)})}var ja=x("ZodUnion",(t,e)=>{pd.init(t,e),G.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Wp(t,r,o,n),t.options=e.options});function Ha(t,e){return new ja({type:"union",options:t,...$.normalizeParams(e)})}var m0=x("ZodIntersection",(t,e)=>{hd.init(t,e),G.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Yp(t,r,o,n)});function g0(t,e){return new m0({type:"intersection",left:t,right:e})}var w0=x("ZodTuple",(t,e)=>{ho(),md.init(t,e),G.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Jp(t,r,o,n)},{rest(t){return this.clone({...this._zod.def,rest:t})},partial(){let t=this._zod.def;if(t.checks?.length)throw new Error(".partial() cannot be used on tuple schemas containing refinements");return this.clone({...t,items:t.items.map(e=>new Ht({type:"optional",innerType:e}))})}});function mo(t,e,r){let o=e instanceof H,n=o?r:e,s=o?e:null;return new w0({type:"tuple",items:t,rest:s,...$.normalizeParams(n)})}var bh=x("ZodRecord",(t,e)=>{ho(),gd.init(t,e),G.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Xp(t,r,o,n),t.keyType=e.keyType,t.valueType=e.valueType});function Lt(t,e,r){return!e||!e._zod?new bh({type:"record",keyType:O(),valueType:t,...$.normalizeParams(e)}):new bh({type:"record",keyType:t,valueType:e,...$.normalizeParams(r)})}var Ua=x("ZodEnum",(t,e)=>{wd.init(t,e),G.init(t,e),t._zod.processJSONSchema=(o,n,s)=>Fp(t,o,n,s),t.enum=e.entries,t.options=[...t._zod.values];let r=new Set(Object.keys(e.entries));t.extract=(o,n)=>{let s={};for(let i of o)if(r.has(i))s[i]=e.entries[i];else throw new Error(`Key ${i} not found in enum`);return new Ua({...e,checks:[],...$.normalizeParams(n),entries:s})},t.exclude=(o,n)=>{let s={...e.entries};for(let i of o)if(r.has(i))delete s[i];else throw new Error(`Key ${i} not found in enum`);return new Ua({...e,checks:[],...$.normalizeParams(n),entries:s})}});function Ne(t,e){let r=Array.isArray(t)?Object.fromEntries(t.map(o=>[o,o])):t;return new Ua({type:"enum",entries:r,...$.normalizeParams(e)})}var Ka=x("ZodLiteral",(t,e)=>{_d.init(t,e),G.init(t,e),t._zod.processJSONSchema=(r,o,n)=>jp(t,r,o,n),t.values=new Set(e.values),Object.defineProperty(t,"value",{get(){if(e.values.length>1)throw new Error("This schema contains multiple valid literal values. Use `.values` instead.");return e.values[0]}})});function zh(t,e){return new Ka({type:"literal",values:Array.isArray(t)?t:[t],...$.normalizeParams(e)})}var _0=x("ZodTransform",(t,e)=>{ho(),xd.init(t,e),G.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Kp(t,r,o,n),t._zod.parse=(r,o)=>{if(o.direction==="backward")throw new _r(t.constructor.name);r.addIssue=s=>{if(typeof s=="string")r.issues.push($.issue(s,r.value,e));else{let i=s;i.fatal&&(i.continue=!1),i.code??(i.code="custom"),"input"in i||(i.input=r.value),i.inst??(i.inst=t),r.issues.push($.issue(i))}};let n=e.transform(r.value,r);return n instanceof Promise?n.then(s=>(r.value=s,r)):(r.value=n,r)}});function x0(t){return new _0({type:"transform",transform:t})}var Ht=x("ZodOptional",(t,e)=>{ma.init(t,e),G.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Ba(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function Hn(t){return new Ht({type:"optional",innerType:t})}var Oh=x("ZodExactOptional",(t,e)=>{yd.init(t,e),G.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Ba(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function y0(t){return new Oh({type:"optional",innerType:t})}var go=x("ZodNullable",(t,e)=>{bd.init(t,e),G.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Qp(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function Kn(t){return new go({type:"nullable",innerType:t})}var Ga=x("ZodDefault",(t,e)=>{vd.init(t,e),G.init(t,e),t._zod.processJSONSchema=(r,o,n)=>rh(t,r,o,n),t.unwrap=()=>t._zod.def.innerType,t.removeDefault=t.unwrap});function b0(t,e){return new Ga({type:"default",innerType:t,get defaultValue(){return typeof e=="function"?e():$.shallowClone(e)}})}var Va=x("ZodPrefault",(t,e)=>{Sd.init(t,e),G.init(t,e),t._zod.processJSONSchema=(r,o,n)=>oh(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function v0(t,e){return new Va({type:"prefault",innerType:t,get defaultValue(){return typeof e=="function"?e():$.shallowClone(e)}})}var Mh=x("ZodNonOptional",(t,e)=>{kd.init(t,e),G.init(t,e),t._zod.processJSONSchema=(r,o,n)=>eh(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function S0(t,e){return new Mh({type:"nonoptional",innerType:t,...$.normalizeParams(e)})}var k0=x("ZodCatch",(t,e)=>{Ed.init(t,e),G.init(t,e),t._zod.processJSONSchema=(r,o,n)=>nh(t,r,o,n),t.unwrap=()=>t._zod.def.innerType,t.removeCatch=t.unwrap});function E0(t,e){return new k0({type:"catch",innerType:t,catchValue:typeof e=="function"?e:$.constantCatch(e)})}var A0=x("ZodPipe",(t,e)=>{Ad.init(t,e),G.init(t,e),t._zod.processJSONSchema=(r,o,n)=>sh(t,r,o,n),t.in=e.in,t.out=e.out});function vh(t,e){return new A0({type:"pipe",in:t,out:e})}var T0=x("ZodReadonly",(t,e)=>{Td.init(t,e),G.init(t,e),t._zod.processJSONSchema=(r,o,n)=>ih(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function z0(t){return new T0({type:"readonly",innerType:t})}var O0=x("ZodCustom",(t,e)=>{zd.init(t,e),G.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Hp(t,r,o,n)});function M0(t,e={}){return xp(O0,t,e)}function $0(t,e){return yp(t,e)}var wo={};Li(wo,{bigint:()=>L0,boolean:()=>N0,date:()=>C0,number:()=>R0,string:()=>I0});function I0(t){return Ld(Za,t)}function R0(t){return lp(Gn,t)}function N0(t){return pp(qa,t)}function L0(t){return hp(kh,t)}function C0(t){return wp(Ah,t)}function D0(t,e){let r=[],o=Array.from({length:e.length+1},(n,s)=>s);for(let n=1;n<=t.length;n++){let s=[n];for(let i=1;i<=e.length;i++){let a=o[i-1]+(t[n-1]===e[i-1]?0:1);s[i]=Math.min(o[i]+1,s[i-1]+1,a),n>1&&i>1&&t[n-1]===e[i-2]&&t[n-2]===e[i-1]&&(s[i]=Math.min(s[i],r[i-2]+1))}[r,o]=[o,s]}return o[e.length]}function $h(t,e){let o=e.map(n=>({name:n,distance:D0(t,n)})).sort((n,s)=>n.distance-s.distance)[0];return o&&o.distance<=Math.max(2,Math.floor(t.length/3))?`; did you mean ${o.name}?`:`; known are ${e.join(", ")}`}function Rh(t,e,r=""){let o=t.safeParse(e);if(o.success)return o.data;let n=o.error.issues[0],s=n.path.map(String);if(n.code==="unrecognized_keys"){let c=n.keys[0],u=$h(c,Wa(t,s,e));throw new Fe(Ph(r,[...s,c]),`the key is unknown${u}`)}let i=Ya(e,n.path),a=i===void 0?"nothing":JSON.stringify(i);throw new Fe(Ph(r,s),`found ${a}, ${B0(n)}`)}function B0(t){switch(t.code){case"custom":return t.message;case"invalid_type":return`expected ${U0(t.expected==="int"?"integer":t.expected)}`;case"too_small":return`expected ${t.inclusive?"at least":"more than"} ${t.minimum}`;case"too_big":return`expected ${t.inclusive?"at most":"less than"} ${t.maximum}`;case"invalid_value":return`expected ${t.values.map(String).join(" or ")}`;default:return t.message}}function U0(t){return`${/^[aeiou]/.test(t)?"an":"a"} ${t}`}function Ph(t,e){return[...t?[t]:[],...e].join(".")||"(all)"}function Ya(t,e){let r=t;for(let o of e){if(typeof r!="object"||r===null)return;r=r[o]}return r}function Wa(t,e,r){let o=Ih(t);if(o instanceof ja){let a=o.options.map(u=>Ih(u)),c=a.filter(u=>Z0(u,r));return(c.length>0?c:a).flatMap(u=>Wa(u,e,r))}if(!(o instanceof Rt))return[];let n=o.shape;if(e.length===0)return Object.keys(n);let[s,...i]=e;return n[s]?Wa(n[s],i,Ya(r,[s])):[]}function Z0(t,e){return t instanceof Rt?Object.entries(t.shape).every(([r,o])=>!(o instanceof Ka)||o.safeParse(Ya(e,[r])).success):!1}function Ih(t){let e=t;for(;e instanceof Ga||e instanceof Va||e instanceof Ht||e instanceof go;)e=e.unwrap();return e}var Nh=["MeasurementStart","SrcIpStart","DestIpStart","Ipv4Start","Ipv6Start","RttStart","SizeStart","ErrorCountStart","TimestampStart","MsmIdStart"];var q0=37;function Lh(t){return q0+t.source.length+t.destination.length}function Er({source:t,destination:e,timeS:r}){return 14+(r===null?0:9)+t.length+e.length}var We=class extends y{position;name;constructor(e,r){super(`Cannot decode tokens at position ${e}: ${r}`),this.position=e,this.name="TokenError"}},_o=class{tokens;grammar;at;constructor(e,r){this.tokens=e,this.grammar=r,this.at=0}readStart(){let{MEASUREMENT_START:e,tokenName:r}=this.grammar;if(this.tokens[this.at]!==e)throw this.unexpected(r(e));this.at++}readByte(){let e=this.tokens[this.at],{BYTE_BASE:r,VOCAB_SIZE:o}=this.grammar;if(!(e>=r&&e<o))throw this.unexpected("a byte");return this.at++,e-r}readBytes(e){let r=new Uint8Array(e);for(let o=0;o<e;o++)r[o]=this.readByte();return r}unexpected(e){let o=this.at>=this.tokens.length?"the end of the tokens":this.grammar.tokenName(this.tokens[this.at]);return new We(this.at,`found ${o}, expected ${e}`)}};var Dh=3528531795,Bh=3449720151,F0=2654435769,j0=3144134277,H0=10,Vn=2**32;var Ye=class{#e;#t;#r;#o;#n;#s=new Uint32Array(4);#a=0;#i=4;constructor(e,r,...o){if(!Number.isSafeInteger(e)||e<0)throw new RangeError(`Cannot seed a random stream: found ${e}, expected an integer in 0..2^53-1`);if(o.length>3||o.some(i=>i>>>0!==i))throw new RangeError(`Cannot index a random stream: found [${o}], expected up to three u32`);let[n,s]=K0(r);Uh(this.#s,n,s,0,0,e>>>0,Math.floor(e/Vn)),this.#e=this.#s[0],this.#t=this.#s[1],this.#r=o[0]??0,this.#o=o[1]??0,this.#n=o[2]??0}restart(e,r=0,o=0){this.#r=e,this.#o=r,this.#n=o,this.#a=0,this.#i=4}uint32(){return this.#i===4&&this.#c(),this.#s[this.#i++]}float64(){let e=this.uint32()>>>5,r=this.uint32()>>>6;return(e*2**26+r)*2**-53}below(e){if(e===Vn)return this.uint32();if(e===0||e>>>0!==e)throw new RangeError(`Cannot draw an integer below ${e}: expected 1..2^32`);let r=this.uint32();if(Math.imul(r,e)>>>0<e){let o=(Vn-e)%e;for(;Math.imul(r,e)>>>0<o;)r=this.uint32()}return Ja(r,e)>>>0}normal(){return Math.sqrt(2*this.exponential())*Math.cos(2*Math.PI*this.float64())}exponential(){return-Math.log(1-this.float64())}shuffle(e){for(let r=e.length-1;r>0;r--){let o=this.below(r+1),n=e[r];e[r]=e[o],e[o]=n}}#c(){b(this.#a<Vn,"a random stream gave all of its 2^34 numbers"),Uh(this.#s,this.#a++,this.#r,this.#o,this.#n,this.#e,this.#t),this.#i=0}};function Uh(t,e,r,o,n,s,i){let a=e|0,c=r|0,u=o|0,l=n|0,f=s|0,d=i|0;for(let p=0;p<H0;p++){let h=Ja(a,Dh),g=Math.imul(a,Dh),m=Ja(u,Bh),w=Math.imul(u,Bh);a=m^c^f,c=w,u=h^l^d,l=g,f=f+F0|0,d=d+j0|0}t[0]=a,t[1]=c,t[2]=u,t[3]=l}function Ja(t,e){let[r,o,n,s]=[t&65535,t>>>16,e&65535,e>>>16],i=Math.imul(o,n)+(Math.imul(r,n)>>>16)|0,a=Math.imul(r,s)+(i&65535)|0;return Math.imul(o,s)+(i>>>16)+(a>>>16)|0}var Zh=new Map;function K0(t){let e=Zh.get(t);if(e)return e;let r=0xcbf29ce484222325n;for(let n of new TextEncoder().encode(t))r=BigInt.asUintN(64,(r^BigInt(n))*0x100000001b3n);let o=[Number(r&0xffffffffn),Number(r>>32n)];return Zh.set(t,o),o}function oe(t){let e=t|0;return e=Math.imul(e^e>>>16,2246822507),e=Math.imul(e^e>>>13,3266489909),(e^e>>>16)>>>0}var Gh=["float64","fixed","log","clipped"],qh=8,yo=1e3,bo=2**32,Wn=4294967295,Xa=Number.MAX_SAFE_INTEGER,oc=.001,Y0=1e6,Vh=65535,Qa=65535,nc=Math.log(Y0/oc)/Vh,pz=Math.expm1(nc/2),J0={name:"float64",maxRttMs:Number.MAX_VALUE,encode(t,e){t!==null&&es(t,Number.MAX_VALUE),e.setFloat64(0,t===null?-1:t+0)},decode(t){let e=t.getFloat64(0);return e===-1?null:e>=0&&e<1/0&&!Object.is(e,-0)?e:void 0}},Wh={name:"fixed",maxRttMs:Xa/yo,encode(t,e){t!==null&&es(t,Wh.maxRttMs),Yh(t===null?null:Math.min(Math.round(t*yo),Xa),e)},decode(t){return Jh(t,Xa)}},X0={name:"log",maxRttMs:Number.MAX_VALUE,encode(t,e){e.setUint32(0,0),e.setUint32(4,t===null?Qa:ev(t))},decode(t){let e=t.getUint32(4);if(!(t.getUint32(0)!==0||e>Qa))return e===Qa?null:oc*Math.exp((e+.5)*nc)}};function Q0(t){if(!Number.isSafeInteger(t)||t<1)throw new RangeError(`Cannot clip RTTs at ${t} \xB5s: expected an integer in 1..2^53-1`);return{name:"clipped",clipUs:t,maxRttMs:Number.MAX_VALUE,encode(e,r){e!==null&&es(e,Number.MAX_VALUE),Yh(e===null?null:Math.min(Math.round(e*yo),t),r)},decode(e){return Jh(e,t)}}}function Qn({name:t,clipMs:e}){return t==="clipped"?Q0(Math.max(1,Math.round(e*yo))):{float64:J0,fixed:Wh,log:X0}[t]}function es(t,e){if(!(t>=0&&t<=e))throw new RangeError(`Cannot encode an RTT of ${t} ms: expected a number in 0..${e}`)}function ev(t){es(t,Number.MAX_VALUE);let e=Math.floor(Math.log(t/oc)/nc);return Math.max(0,Math.min(e,Vh-1))}function Yh(t,e){e.setUint32(0,t===null?Wn:Math.floor(t/bo)),e.setUint32(4,t===null?Wn:t%bo)}function Jh(t,e){let r=t.getUint32(0),o=t.getUint32(4);if(r===Wn&&o===Wn)return null;let n=r*bo+o;return n<=e?n/yo:void 0}var hz={[1]:"source",[2]:"destination",[5]:"rtt",[6]:"size",[7]:"errorCount",[8]:"time",[9]:"msmId"};var Ar=class{out;rttEncoding;at;#e;constructor(e,r){this.out=e,this.rttEncoding=r,this.at=0,this.#e=new DataView(new ArrayBuffer(qh))}writeFields(e,r){let{source:o,destination:n,timeS:s}=e,i=e.rttMs===null?null:Math.min(Math.fround(e.rttMs),this.rttEncoding.maxRttMs),a={sizeBytes:0,packetErrorCount:0,msmId:0},c=r.map(u=>u==="result"?"rtt":u);return this.write({source:o,destination:n,rttMs:i,timeS:s??0,...a},s===null?c.filter(u=>u!=="time"):c,Er(e))}write(e,r,o=Lh(e)){let n=this.at;if(n+o>this.out.length)throw new RangeError(`Cannot write a measurement of ${o} tokens: found space for ${this.out.length-n}`);try{this.out[this.at++]=0;for(let s of r)this.#t(s,e)}catch(s){throw this.at=n,s}return this.at-n!==o&&b(!1,`the order ${r} gave ${this.at-n} of ${o} tokens`),o}#t(e,r){switch(e){case"source":return this.#r(1,r.source);case"destination":return this.#r(2,r.destination);case"rtt":return this.rttEncoding.encode(r.rttMs,this.#e),this.#n(5,qh);case"size":return ec("packet size",r.sizeBytes,0,65535),this.#e.setUint16(0,r.sizeBytes),this.#n(6,2);case"errorCount":return ec("error count",r.packetErrorCount,0,255),this.#e.setUint8(0,r.packetErrorCount),this.#n(7,1);case"time":return this.#o(8,"time",r.timeS);case"msmId":return this.#o(9,"measurement id",r.msmId)}}#r(e,r){if(r.length!==4&&r.length!==16)throw new RangeError(`Cannot write an address: found ${r.length} bytes, expected 4 or 16`);this.out[this.at++]=e,this.out[this.at++]=r.length===4?3:4;for(let o=0;o<r.length;o++)this.out[this.at++]=10+r[o]}#o(e,r,o){ec(r,o,Number.MIN_SAFE_INTEGER,Number.MAX_SAFE_INTEGER);let n=Math.floor(o/bo);this.#e.setInt32(0,n),this.#e.setUint32(4,o-n*bo),this.#n(e,8)}#n(e,r){this.out[this.at++]=e;for(let o=0;o<r;o++)this.out[this.at++]=10+this.#e.getUint8(o)}};function ec(t,e,r,o){if(!(Number.isInteger(e)&&e>=r&&e<=o))throw new RangeError(`Cannot write the ${t} ${e}: expected an integer in ${r}..${o}`)}var tv=new Uint16Array(9);function ts(t,e,r){if(e===0)return;let o=tv,n=t[0],s=0;for(;s<Math.min(e,9);){let l=t[s],f=s++;for(;f>0&&o[f-1]>l;f--)o[f]=o[f-1];o[f]=l,s<=5&&(n=o[s-1>>1])}let i=o[Math.floor((3*s-1)/4)]-o[Math.floor(s/4)],a=Math.min(11,Math.ceil(Math.log2(1+Math.max(0,i)))),c=r===null?0:Math.min(25,1+Math.floor(Math.log2(1+Math.max(0,r)))),u=Math.floor(Math.log2(s));return{typicalCode:n,newestCode:t[0],spread:u*12+a,age:c}}var rs=2;function Xh({typicalCode:t,newestCode:e,spread:r,age:o},n,s){n[s]=t<<16|e,n[s+1]=r<<16|o}function Qh(t,e){let[r,o]=[t[e],t[e+1]];if(r!==0)return{typicalCode:r>>>16,newestCode:r&65535,spread:o>>>16,age:o&65535}}var ns={};Li(ns,{BYTE_BASE:()=>R,DST_IPV4:()=>xe,DST_IPV6:()=>Je,FAILED:()=>le,FIELD_ORDERS:()=>vo,MEASUREMENT_START:()=>ue,QUERY_ORDER:()=>yt,ROLE_NAMES:()=>os,RTT_START:()=>D,SRC_IPV4:()=>Ce,SRC_IPV6:()=>xt,THROUGHPUT_START:()=>rv,TIMESTAMP_ABS:()=>fe,TIMESTAMP_DELTA1:()=>nt,TIMESTAMP_DELTA4:()=>De,VOCAB_SIZE:()=>st,measurementLength:()=>it,timeLength:()=>So,tokenName:()=>sc,untimedLength:()=>em});var ue=0,Ce=1,xt=2,xe=3,Je=4,fe=5,nt=6,De=7,D=8,rv=9,le=10,R=11,st=267,os=["MeasurementStart","SrcIpv4","SrcIpv6","DstIpv4","DstIpv6","TimestampAbs","TimestampDelta1","TimestampDelta4","RttStart","ThroughputStart","Failed"],vo=tm(["source","destination","result","time"]),yt=["source","destination","time","result"];function sc(t){return t>=11&&t<267?`byte ${t-11}`:os[t]??`unknown token ${t}`}function it(t,e){return em(t.source.length,t.destination.length,t.rttCode===null)+So(t.timeS,e)}function em(t,e,r){return 3+t+e+(r?1:3)}function So(t,e){return t===null?0:e===null?9:t-e<=255?2:5}function tm(t){return t.length<=1?[[...t]]:t.flatMap(e=>tm(t.filter(r=>r!==e)).map(r=>[e,...r]))}function we(t){if(!(t>=0&&t<1/0))throw new RangeError(`Cannot encode an RTT of ${t} ms: expected a finite number of 0 or more`);let e=Math.max(1,t*1e3),r=0;for(;e>=2048&&r<31;)e/=2,r++;return r<<11|Math.min(Math.floor(e),2047)}function Kt(t){let{exponent:e,mantissa:r}=rm(t);return e>0?(r+.5)*2**e/1e3:ic(r)}function Gt(t){let{exponent:e,mantissa:r}=rm(t),o=e===31&&r===2047;return{lowMs:t===1?0:ic(r*2**e),highMs:o?1/0:ic((r+1)*2**e)}}function ko(t){return t>>>0!==t||t>65535?!1:(t&2047)>=(t>>11>0?1024:1)}var te=Uint16Array.from(Array.from({length:65536},(t,e)=>e).filter(ko));function ic(t){let e=t/1e3;return e*1e3<t?e*(1+Number.EPSILON):e}function rm(t){if(!ko(t))throw new RangeError(`Cannot decode RTT code ${t}: expected a canonical code`);return{exponent:t>>11,mantissa:t&2047}}function om(t){let e=new ac(t),r=[];for(;e.at<t.length;)r.push(e.readMeasurement());return r}var ac=class extends _o{#e=null;constructor(e){super(e,ns)}readMeasurement(){let e=this.at;this.readStart();let r=[],o,n,s,i=null;for(;this.at<this.tokens.length&&this.tokens[this.at]!==0;){let a=ov(this.tokens[this.at]);if(a===void 0)throw this.unexpected("a block");if(r.includes(a))throw this.unexpected(`no second ${a}`);r.push(a),a==="source"?o=this.#t():a==="destination"?n=this.#t():a==="result"?s={rttCode:this.#r()}:i=this.#o()}if(!o)throw this.unexpected("a source");if(!n)throw this.unexpected("a destination");if(!s)throw this.unexpected("a result");return{source:o,destination:n,rttCode:s.rttCode,timeS:i,order:r,position:e}}#t(){let e=this.tokens[this.at++];return this.readBytes(e===1||e===3?4:16)}#r(){if(this.tokens[this.at++]===10)return null;let e=this.at,r=this.#n(2);if(!ko(r))throw new We(e,`found RTT code ${r}, expected a canonical code`);return r}#o(){let e=this.at,r=this.tokens[this.at++];if(r===5!=(this.#e===null)){let i=r===5?"a gap after the first time":"an absolute first time";throw new We(e,`found ${sc(r)}, expected ${i}`)}let o=r===5?8:r===6?1:4,n=this.#n(o);if(r===7&&n<=255)throw new We(e,`found a gap of ${n} s in 4 bytes, expected 1 byte`);let s=(this.#e??0)+n;if(!Number.isSafeInteger(s))throw new We(e,`found a time of ${s} s, expected at most 2^53-1 s`);return this.#e=s,s}#n(e){let r=0;for(let o=0;o<e;o++)r=r*256+this.readByte();return r}};function ov(t){if(t===1||t===2)return"source";if(t===3||t===4)return"destination";if(t===8||t===10)return"result";if(t>=5&&t<=7)return"time"}var at=class{at;previousTimeS=null;#e;constructor(e,r=0){this.#e=e,this.at=r}write(e,r){let o=this.at,n=it(e,this.previousTimeS);if(o+n>this.#e.length)throw new RangeError(`Cannot write a measurement of ${n} tokens: found space for ${this.#e.length-o}`);this.#e[this.at++]=0;for(let s of r)s==="source"?this.#t(1,e.source):s==="destination"?this.#t(3,e.destination):s==="result"?this.#r(e.rttCode):e.timeS!==null&&this.#o(e.timeS);return this.at-o!==n&&b(!1,`the order ${r} gave ${this.at-o} of ${n} tokens`),n}#t(e,r){if(r.length!==4&&r.length!==16)throw new RangeError(`Cannot write an address: found ${r.length} bytes, expected 4 or 16`);this.#e[this.at++]=r.length===4?e:e+1;for(let o=0;o<r.length;o++)this.#e[this.at++]=11+r[o]}#r(e){if(e===null){this.#e[this.at++]=10;return}if(!ko(e))throw new RangeError(`Cannot write RTT code ${e}: expected a canonical code`);this.#e[this.at++]=8,this.#n(e,2)}#o(e){if(!Number.isSafeInteger(e)||e<0)throw new RangeError(`Cannot write the time ${e}: expected whole seconds in 0..2^53-1`);if(this.previousTimeS===null){this.#e[this.at++]=5,this.#n(e,8),this.previousTimeS=e;return}let r=Math.max(0,e-this.previousTimeS);if(r>4294967295)throw new RangeError(`Cannot write a gap of ${r} s: expected at most 2^32-1 s`);this.#e[this.at++]=r<=255?6:7,this.#n(r,r<=255?1:4),this.previousTimeS+=r}#n(e,r){let o=e;for(let n=this.at+r-1;n>=this.at;n--){let s=Math.floor(o/256);this.#e[n]=11+o-s*256,o=s}this.at+=r}};var Xe=11,Tr=2**20;function nm(t,e){let r=t.slice(-9).reverse();return ts(r.map(({rttCode:o})=>o),r.length,sm(e,r[0]?.timeS??null))}function sm(t,e){return t===null||e===null?null:Math.abs(t-e)}var ss=class{#e;#t;constructor(e){this.#e=new Uint16Array(e*9),this.#t=new Float64Array(e)}add(e,{rttCode:r,timeS:o}){let n=e*9;this.#e.copyWithin(n+1,n,n+9-1),this.#e[n]=r,this.#t[e]=o??0}rttHistory(e,{timeS:r=null,newer:o=[]}={}){let n=this.#e.subarray(e*9,(e+1)*9),s=this.#t[e],i=o.filter(u=>u.timeS===null||u.timeS>s),a=[...i.map(({rttCode:u})=>u).reverse(),...n.filter(u=>u>0)],c=i.at(-1)?.timeS??(s>0?s:null);return ts(a,a.length,sm(r,c))}save(){let e=this.#t.length,r=new Float32Array(e*Xe);for(let o=0;o<e;o++){let n=this.#e.slice(o*9,(o+1)*9).reverse(),s=this.#t[o];r.set([...n,Math.floor(s/Tr),s%Tr],o*Xe)}return r}load(e){let r=this.#t.length;b(e.length===r*Xe,`${e.length} numbers of pairs`);for(let o=0;o<r;o++){let n=o*Xe,s=e.slice(n,n+9).reverse();this.#e.set(s,o*9),this.#t[o]=e[n+9]*Tr+e[n+9+1]}}},nv={[5]:8,[6]:1,[7]:4,[8]:2},is=class t{timeS=null;#e=0;#t=0;#r=0;#o=0;#n=0;#s=new Map;#a=!1;clone(){let e=new t;return e.timeS=this.timeS,e.#e=this.#e,e.#t=this.#t,e.#r=this.#r,e.#o=this.#o,e.#n=this.#n,e.#s=this.#s,e.#a=this.#a=!0,e}read(e){e<11?(this.#r=e,this.#o=0,this.#n=nv[e]??0):this.#n>0&&(this.#o=this.#o*256+e-11,--this.#n===0&&this.#i(this.#o))}end(e){if(e!==void 0&&this.#t>0){this.#a&&(this.#s=new Map(this.#s)),this.#a=!1;let r={rttCode:this.#t,timeS:this.timeS};this.#s.set(e,[...this.rttsOf(e),r].slice(-9))}this.timeS=null,this.#t=0}rttsOf(e){return this.#s.get(e)??[]}#i(e){this.#r===8?this.#t=e:this.timeS=this.#e=e+(this.#r===5?0:this.#e)}};function as(t){return Math.log(Math.max(t,.001))}var sv=.001;function cc(t,e){return t===0?e:(Math.exp(t*e)-1)/t}function im(t,e){return t===0?e:Math.log(Math.max(1+t*e,sv**t))/t}function uc(t,e,r){let[o,n]=t<e?[t,e]:[e,t];return oe(oe(o+1)^Math.imul(n+1,2654435769))%r}var cs=class{pairs;numFolds;start;others;logs;folds;weights;constructor(e,r){this.pairs=e,this.numFolds=r;let{numNodes:o,a:n,b:s,rttMs:i,weights:a}=e;b(s.length===n.length&&i.length===n.length,`${n.length}, ${s.length}, ${i.length} pairs`),this.start=new Float64Array(o+1);for(let f=0;f<n.length;f++)b(n[f]<o&&s[f]<o,`a pair of nodes ${n[f]} and ${s[f]} of ${o}`),n[f]!==s[f]&&(this.start[n[f]+1]++,this.start[s[f]+1]++);for(let f=0;f<o;f++)this.start[f+1]+=this.start[f];let c=this.start[o];this.others=new Uint32Array(c),this.logs=new Float32Array(c),this.folds=new Uint8Array(c),this.weights=new Float32Array(c);let u=this.start.slice(),l=(f,d,p)=>{let h=u[f]++;this.others[h]=d,this.logs[h]=as(i[p]),this.folds[h]=uc(f,d,r),this.weights[h]=a?.[p]??1};for(let f=0;f<n.length;f++)n[f]!==s[f]&&(l(n[f],s[f],f),l(s[f],n[f],f))}get numNodes(){return this.pairs.numNodes}},pe=-1;function am(t,e){let{start:r,others:o,folds:n,numNodes:s}=t,i=new Float32Array(s).fill(pe),a=new Uint32Array(s);for(let c=0;c<s;c++){let u=0;for(i[c]===pe&&(a[u++]=c);u>0;){let l=a[--u];for(let f=r[l];f<r[l+1];f++)e>>n[f]&1||(i[l]=c,i[o[f]]===pe&&(i[o[f]]=c,a[u++]=o[f]))}}return i}var us=class{numFeatures;#e;#t;#r;constructor(e){this.numFeatures=e,this.#e=new Float64Array(e**2),this.#t=new Float64Array(e),this.#r=new Float64Array(e**2)}clear(){this.#e.fill(0),this.#t.fill(0)}add(e,r){let o=this.numFeatures;for(let n=0;n<o;n++){this.#t[n]+=r*e[n];for(let s=0;s<=n;s++)this.#e[n*o+s]+=e[n]*e[s]}}addFour(e,r,o){let n=this.numFeatures,s=this.#e,i=this.#t;for(let a=0;a<n;a++){let c=o[0]*e[a],u=o[1]*e[n+a],l=o[2]*e[2*n+a],f=o[3]*e[3*n+a];i[a]+=c*r[0]+u*r[1]+l*r[2]+f*r[3];for(let d=0,p=a*n;d<=a;d++,p++)s[p]+=c*e[d]+u*e[n+d]+l*e[2*n+d]+f*e[3*n+d]}}solve(e,r){let o=this.numFeatures,n=this.#r,s=new Float64Array(o);for(let i=0;i<o;i++){let a=typeof e=="number"?e:e[i],c=this.#t[i]+a*(r?.[i]??0);for(let u=0;u<=i;u++){let l=this.#e[i*o+u]+(i===u?a:0);for(let f=0;f<u;f++)l-=n[i*o+f]*n[u*o+f];n[i*o+u]=i===u?Math.sqrt(l):l/n[u*o+u]}for(let u=0;u<i;u++)c-=n[i*o+u]*s[u];s[i]=c/n[i*o+i]}for(let i=o-1;i>=0;i--){for(let a=i+1;a<o;a++)s[i]-=n[a*o+i]*s[a];s[i]/=n[i*o+i]}return s}};var iv=.1,av=.25,cv=3;function cm(t,e){return t>Math.floor(e*av)?-1:1}var Eo=class{#e;#t;#r;#o;#n;#s=new Float64Array(4);#a=new Float64Array(4);#i=0;constructor(e){this.#e=e;let r=e.rank+1;this.#t=new us(r),this.#r=new Float64Array(r).fill(e.regularisation),this.#r[0]*=cv,this.#o=Float64Array.from({length:r},(o,n)=>cm(n,e.rank)),this.#n=new Float64Array(4*r)}add({value:e,weight:r},o,n,s,i=0){let a=this.#o,c=a.length,u=this.#i*c,l=this.#n,f=e-o[n];l[u]=1;for(let p=1;p<c;p++)l[u+p]=a[p]*o[n+p];let d=r;if(s){let p=f;for(let h=0;h<c;h++)p-=l[u+h]*s[i+h];d*=this.#e.knee/Math.max(this.#e.knee,Math.abs(p))}this.#s[this.#i]=f,this.#a[this.#i++]=d,this.#i===4&&this.#c()}solve(e){this.#a.fill(0,this.#i),this.#c();let r=this.#t.solve(this.#r,e);return this.#t.clear(),r}#c(){this.#t.addFour(this.#n,this.#s,this.#a),this.#i=0}};function um(t,e,r){let o=new Ye(r,"coordinates/vectors"),n=s=>s%(e+1)===0;return Float64Array.from({length:t*(e+1)},(s,i)=>n(i)?0:iv*o.normal())}function lm(t,e,r){let{neighbours:{start:o,others:n,folds:s,weights:i,numNodes:a},values:c}=e,{rank:u,numPlainSweeps:l,numSweeps:f,without:d}=r,p=u+1,h=new Eo(r);for(let g=0;g<f;g++){let m=g<l?void 0:t;for(let w=0;w<a;w++){if(o[w]===o[w+1]){t.fill(0,w*p,(w+1)*p);continue}for(let _=o[w];_<o[w+1];_++){if(d>>s[_]&1)continue;let S={value:c[_],weight:i[_]};h.add(S,t,n[_]*p,m,w*p)}t.set(h.solve(),w*p)}}}function fm(t,e,r,o){let n=t[r]+e[r];for(let s=1;s<=o;s++)n+=cm(s,o)*t[r+s]*e[r+s];return n}var uv=5,dm=3,pm=2048,xm=64,lv=1e-6,hm=8,fv=2;function dv(t,e,{estimate:r,usualError:o}){let n=ls(e,xm),s=n.map(f=>Float64Array.from(t,d=>r(d.place,f.place))),i=n.map(({log:f},d)=>s[d].map(p=>-(dm+1)/2*Math.log1p(((p-f)/o)**2/dm))),a=new Float64Array(t.length);for(let f of i)f.forEach((d,p)=>a[p]+=d);let c=n.map(({log:f},d)=>{let p=mm(a.map((h,g)=>h-i[d][g]));return Math.abs(p.reduce((h,g,m)=>h+g*s[d][m],0)-f)}).sort((f,d)=>f-d),u=c.length,l=o*(1+fv/u);return{nodes:[...mm(a)].flatMap((f,d)=>f>0?[{node:t[d].node,weight:f}]:[]),error:(u*c[u>>1]+hm*l)/(u+hm)}}function mm(t){let e=t.reduce((n,s)=>Math.max(n,s),-1/0),r=t.map(n=>Math.exp(n-e)).map(n=>n<lv?0:n),o=r.reduce((n,s)=>n+s,0);return r.map(n=>n/o)}function ls(t,e){return t.length<=e?t:Array.from({length:e},(r,o)=>t[Math.floor(o*t.length/e)])}var pv=2,hv=2/3,mv=5,gv=2,gm=pe-1,Vt=class t{factors;#e;constructor(e){this.factors=e,this.#e=e.options.rank+1}static fit(e,r){let{powers:o,rank:n,without:s}=r,{numNodes:i,logs:a}=e,c=n+1,u=wv(e,s),l=new Float32Array(i*o.length*c),f=new Float32Array(a.length),d=um(i,n,r.seed);return o.forEach((p,h)=>{for(let m=0;m<f.length;m++)f[m]=cc(p,a[m]-u[0]);let g=h===0?{numPlainSweeps:pv,numSweeps:r.numSweeps}:{numPlainSweeps:0,numSweeps:Math.ceil((1-hv)*r.numSweeps)};lm(d,{neighbours:e,values:f},{...r,...g});for(let m=0;m<i;m++)l.set(d.subarray(m*c,(m+1)*c),(m*o.length+h)*c)}),new t({powers:o,options:r,vectors:l,components:am(e,s),range:u})}vectorOf(e){let{powers:r,vectors:o,components:n}=this.factors,s=r.length*this.#e,i=n[e];return{vectors:o.subarray(e*s,(e+1)*s),component:i<pe?gm-i:i}}put(e,{vectors:r,component:o}){this.vectorOf(e).vectors.set(r),this.factors.components[e]=o===pe?pe:gm-o}estimate(e,r){if(e.component===pe||r.component===pe)return;let{powers:o,options:n,range:[s,i,a]}=this.factors,c=e.component===r.component?n.rank:0,u=0,l=1/0,f=-1/0;return o.forEach((d,p)=>{let h=fm(e.vectors,r.vectors,p*this.#e,c),g=Math.min(a,Math.max(i,s+im(d,h)));u+=g,l=Math.min(l,g),f=Math.max(f,g)}),{log:u/o.length,spread:(f-l)/2}}locate(e,{usualError:r,without:o}){let{powers:n,options:s,components:i}=this.factors,a=new Float32Array(n.length*this.#e),c=_=>this.vectorOf(_).component,u=_m(e.map(({node:_})=>c(_)).filter(_=>_!==pe)),l=e.filter(({node:_})=>c(_)===u);if(u===void 0)return{vectors:a,component:pe,error:r};let f=[...i.keys()].filter(_=>i[_]===u&&!o.has(_)),d=ls(f,pm).map(_=>({node:_,place:this.vectorOf(_)})),p=l.map(({node:_,log:S})=>({place:this.vectorOf(_),log:S})),{nodes:h,error:g}=dv(d,p,{estimate:(_,S)=>this.estimate(_,S)?.log??NaN,usualError:r}),m=s.regularisation*uv,w=new Eo({...s,regularisation:m});return n.forEach((_,S)=>{let E=this.#r(h,S),k=E;for(let M=0;M<mv;M++)this.#t(w,l,S,k),k=w.solve(E);a.set(k,S*this.#e)}),{vectors:a,component:u,error:wm(g,r)}}typicalNode(e){let{powers:r,components:o}=this.factors,n=new Float32Array(r.length*this.#e),s=_m(o.filter(f=>f>pe));if(s===void 0)return{vectors:n,component:pe,error:e};let i=ls([...o.keys()].filter(f=>o[f]===s),pm),a=i.map(f=>({node:f,weight:1/i.length}));r.forEach((f,d)=>n.set(this.#r(a,d),d*this.#e));let c=ls(i,xm).map(f=>this.vectorOf(f)),u=(f,d)=>this.estimate(f,d)?.log??NaN,l=c.flatMap(f=>{let d=u(f,{vectors:n,component:s});return c.filter(p=>p!==f).map(p=>Math.abs(u(f,p)-d))}).sort((f,d)=>f-d);return{vectors:n,component:s,error:wm(l[l.length>>1]??e,e)}}#t(e,r,o,n){let{powers:s,vectors:i,range:a}=this.factors;for(let{node:c,log:u}of r){let l=(c*s.length+o)*this.#e;e.add({value:cc(s[o],u-a[0]),weight:1},i,l,n)}}#r(e,r){let o=new Float64Array(this.#e),{vectors:n,powers:s}=this.factors;for(let{node:i,weight:a}of e){let c=(i*s.length+r)*this.#e;for(let u=0;u<o.length;u++)o[u]+=a*n[c+u]}return o}};function wm(t,e){return Math.fround(gv*t*Math.max(1,t/e))}function _m(t){let e=new Map;for(let r of t)e.set(r,(e.get(r)??0)+1);return[...e].sort(([r,o],[n,s])=>s-o||r-n)[0]?.[0]}function wv({logs:t,folds:e,weights:r},o){let n=0,s=0,i=1/0,a=-1/0;for(let c=0;c<t.length;c++)o>>e[c]&1||(n+=r[c]*t[c],s+=r[c],i=Math.min(i,t[c]),a=Math.max(a,t[c]));return s===0?new Float32Array(3):Float32Array.of(n/s,i,a)}var Wt=[0,.5,1],ym=6,_v=.2;function fs(t){let{numNodes:e,numFolds:r,rank:o}=t;return{vectors:[r+1,e,Wt.length,1+o],nodes:[r+1,2,e],fits:[r+1,ym]}}function lc({numNodes:t,numFolds:e,rank:r},o){let n=Wt.length*(1+r);return Array.from({length:e+1},(s,i)=>[{part:"vectors",start:(i*t+o)*n,length:n},{part:"nodes",start:2*i*t+o,length:1},{part:"nodes",start:(2*i+1)*t+o,length:1}]).flat()}var Yt=class t{size;fits;#e;constructor(e,r){this.size=e,this.fits=r,b(r.length===e.numFolds+1,`${r.length} factorisations`)}foldOf(e,r){return uc(e,r,this.size.numFolds)}estimate(e,r,o=this.size.numFolds){let{factorisation:n,errors:s,usualError:i}=this.fits[o],a=f=>typeof f=="number"?n.vectorOf(f):f.places[o],c=n.estimate(a(e),a(r));if(!c)return;let u=f=>typeof f=="number"?s[f]:f.places[o].error,l=Math.sqrt(u(e)*u(r))*(c.spread/i+_v);return{rttMs:Math.exp(c.log),error:l}}locate(e,r=new Set){let o=e.map(({node:n,rttMs:s})=>({node:n,log:as(s)}));return{places:this.fits.map(({factorisation:n,usualError:s})=>n.locate(o,{usualError:s,without:r}))}}get typical(){return this.#e??={places:this.fits.map(({factorisation:e,usualError:r})=>e.typicalNode(r))}}hasCoordinates(e,r=this.size.numFolds){return this.fits[r].factorisation.vectorOf(e).component!==pe}put(e,{places:r}){r.forEach((o,n)=>{let{factorisation:s,errors:i}=this.fits[n];s.put(e,o),i[e]=o.error})}save(){let e=o=>{let n=new Float32Array(o.reduce((i,a)=>i+a.length,0)),s=0;for(let i of o)n.set(i,s),s+=i.length;return n},r=this.fits.map(({factorisation:o})=>o.factors);return{vectors:e(r.map(({vectors:o})=>o)),nodes:e(this.fits.flatMap(({errors:o},n)=>[r[n].components,o])),fits:e(this.fits.map(({usualError:o},n)=>{let{range:s,options:{knee:i,regularisation:a}}=r[n];return[...s,i,a,o]}))}}static load(e,r){let{numNodes:o,numFolds:n,rank:s}=e;for(let[l,f]of Object.entries(fs(e))){let{length:d}=r[l];b(d===f.reduce((p,h)=>p*h),`${d} ${l} of coordinates of shape ${f}`)}let{vectors:i,nodes:a,fits:c}=r,u=(l,f,d)=>l.subarray(d*f,(d+1)*f);return new t(e,Array.from({length:n+1},(l,f)=>{let d=u(c,ym,f),[p,h,g]=d.subarray(3);return{factorisation:new Vt({powers:Wt,options:{rank:s,knee:p,regularisation:h},vectors:u(i,o*Wt.length*(1+s),f),components:u(a,o,2*f),range:d.subarray(0,3)}),errors:u(a,o,2*f+1),usualError:g}}))}};var xv=[{knee:.025,regularisation:.12},{knee:.01,regularisation:.06},{knee:.06,regularisation:.12},{knee:.06,regularisation:.5}],yv=[.5],bm=5,bv=1,vv=5e-4,Sv=4;function vm(t,e={}){let{seed:r=0,numFolds:o=4,numSweeps:n=30,maxBytes:s=2**29,settings:i=xv}=e;b(o>=4&&o<=30&&o%2===0,`${o} folds`);let a=Sv*Wt.length*(o+1)*t.numNodes,c=Math.max(1,Math.min(e.rank??24,Math.floor(s/a)-1)),u=new cs(t,o),l={rank:c,numSweeps:n,seed:r},f=i.map(kv),d=f.map(h=>Av(u,{...l,...h})),p=Array.from({length:o+1},(h,g)=>{let m=g===o,w=m?2**o-1:1<<Ev(g),_=zv(d.map(E=>Tv(u,E,w)));return{factorisation:Vt.fit(u,{...l,...f[_],powers:Wt,without:m?0:1<<g}),...Ov(u,d[_],w)}});return new Yt({numNodes:t.numNodes,numFolds:o,rank:c},p)}function kv({knee:t,regularisation:e}){return{knee:Math.fround(t),regularisation:Math.fround(e)}}function Ev(t){return t^1}function Av(t,e){let{start:r,others:o,folds:n,logs:s,numNodes:i,numFolds:a}=t,c=new Float32Array(s.length);for(let u=0;u<a;u+=2){let l=3<<u,f=Vt.fit(t,{...e,powers:yv,without:l});for(let d=0;d<i;d++){let p=f.vectorOf(d);for(let h=r[d];h<r[d+1];h++){if(!fc(l,n[h]))continue;let g=f.estimate(p,f.vectorOf(o[h]));c[h]=g?Math.abs(g.log-s[h]):NaN}}}return c}function fc(t,e){return(t>>e&1)===1}function Tv({folds:t},e,r){let o=0,n=0;for(let s=0;s<e.length;s++)!fc(r,t[s])||Number.isNaN(e[s])||(o+=Math.sqrt(e[s]),n++);return n===0?0:o/n}function zv(t){return t.indexOf(Math.min(...t))}function Ov({start:t,folds:e,numNodes:r},o,n){let s=(u,l)=>{let f=o.subarray(u,l).filter((d,p)=>fc(n,e[u+p])&&!Number.isNaN(d));return{count:f.length,median:f.sort()[f.length>>1]}},i=s(0,o.length).median??bv,a=Math.fround(Math.max(vv,i)),c=Float32Array.from({length:r},(u,l)=>{let{count:f,median:d}=s(t[l],t[l+1]);return(f*(d??0)+bm*a)/(f+bm)});return{usualError:a,errors:c}}function zr(t,e,r){let o=t.get(e);return o===void 0&&t.set(e,o=r()),o}function Jt(t,e){if(t.length!==e.length)return!1;for(let r=0;r<t.length;r++)if(t[r]!==e[r])return!1;return!0}var ds=class{#e=[];#t;constructor(e){this.#t=e}get first(){return this.#e[0]}add(e){let r=this.#e,o=r.push(e)-1;for(;o>0;){let n=o-1>>1;if(!this.#t(e,r[n]))break;r[o]=r[n],o=n}r[o]=e}removeFirst(){let e=this.#e.pop();e===void 0||this.#e.length===0||(this.#e[0]=e,this.sinkFirst())}sinkFirst(){let e=this.#e,r=e[0],o=0;for(let n=1;n<e.length&&(n+1<e.length&&this.#t(e[n+1],e[n])&&n++,!!this.#t(e[n],r));n=2*o+1)e[o]=e[n],o=n;e[o]=r}};function Te(t,e){let r=0,o=t;for(;r<o;){let n=Math.floor((r+o)/2);e(n)?o=n:r=n+1}return r}var dc=2,Sm=[{quarterDegrees:4,maxErrorKm:0},...Array.from({length:20},(t,e)=>({quarterDegrees:4,maxErrorKm:64*2**(e/2)})),...Array.from({length:20},(t,e)=>({quarterDegrees:8,maxErrorKm:65536*4**e}))],ps={country:500,region:50,network:300},pc={v4:8,v6:8},To={4:4,16:6};function zo(t){let e=0;for(let r=0;r<To[t.length===4?4:16];r++)e=e*256+t[r];return e}function Mv(t){let e=t.filter(r=>r!==void 0);return e.length<2?e[0]:Object.assign({},...e)}var km=1,$v=Array.from({length:4},()=>({starts:new Float64Array,values:new Uint32Array})),hs={position:void 0,country:0,region:0},ms=class t{#e;constructor(e){this.#e=e}static of(e,r=()=>{}){let o=new gs(dc),n=e.parts??[e],s=0,i=[4,16].flatMap(c=>{let u=hc(pc,c),l=Cv(e,c,u),[f,d]=[new Ao,new Ao];for(let p of l){let h=Nv(p*2**u+2**(u-1),c),g=n.map(_=>_.locate(h)).filter(_=>_!==void 0),m=g.filter(Rv),w=m.length<2?m[0]:Mv(m);f.add(p,w?o.of(w):0),d.add(p,g.findLast(({asNumber:_})=>_!==void 0)?.asNumber??0),++s%2**18===0&&r(s)}return[f.ranges(),d.ranges()]}),{sites:a}=o;return new t(Am({quarterDegrees:dc,blockBits:pc,sites:a,ranges:i}))}static decode(e,r){if(!(e[0]>0))return new t({quarterDegrees:dc,blockBits:pc,sites:[hs],ranges:$v});let o=new gc(Zv(e),r);o.number()!==km&&o.fail("its format is unknown");let[n,s,i,a]=Array.from({length:4},()=>o.number()),c=[hs];for(let l=0;l<a;l++){let[f,d,p,h]=Array.from({length:4},()=>o.number()),g=f===0?void 0:{latitude:(f-1)*n/4-90,longitude:d*n/4-180};c.push({position:g,country:p,region:h})}let u=Array.from({length:4},()=>{let l=o.number();l>3*e.length&&o.fail("it has fewer ranges than it says");let f=new Float64Array(l),d=new Uint32Array(l);for(let p=0,h=0;p<l;p++)f[p]=h+=o.number(),d[p]=o.number();return{starts:f,values:d}});for(let{values:l}of[u[0],u[2]])l.some(f=>f>a)&&o.fail("it has a number of no site");return new t({quarterDegrees:n,blockBits:{v4:s,v6:i},sites:c,ranges:u})}encode(){let{quarterDegrees:e,blockBits:r,sites:o,ranges:n}=this.#e,s=new mc;s.add(km,e,r.v4,r.v6,o.length-1);for(let{position:i,country:a,region:c}of o.slice(1)){let u=l=>Math.round(l*4/e);s.add(i?1+u(i.latitude+90):0,i?u(i.longitude+180):0),s.add(a,c)}for(let{starts:i,values:a}of n){s.add(i.length);for(let c=0;c<i.length;c++)s.add(i[c]-(c>0?i[c-1]:0),a[c])}return Uv(s.bytes())}get stepDegrees(){return this.#e.quarterDegrees/4}get prefixLengths(){let{v4:e,v6:r}=this.#e.blockBits;return{v4:32-e,v6:48-r}}get numRanges(){let[e,r,o,n]=this.#e.ranges.map(({starts:s})=>s.length);return{sites:e+o,networks:r+n}}get numSites(){return this.#e.sites.length-1}locate(e,r){let{blockBits:o,sites:n,ranges:s}=this.#e,i=Math.floor(e/2**hc(o,r)),a=r===4?0:2;return{...n[Em(s[a],i)],asNumber:Em(s[a+1],i)}}within(e,r=[]){let o=this.encode();if(o.byteLength<=e)return o;let n=i=>this.#t(Sm[i],r).encode(),s=Sm.length-1;return n(Te(s,i=>n(i).byteLength<=e))}#t({quarterDegrees:e,maxErrorKm:r},o){let{blockBits:n,sites:s,ranges:i}=this.#e,a=new gs(e),c=s.map(f=>a.ofSite(f)),u=[4,16].map(f=>{let d=o.filter(p=>p.length===f);return Float64Array.from(d,p=>Math.floor(zo(p)/2**hc(n,f))).sort()}),l=i.map(({starts:f,values:d},p)=>{let h=p%2===0,g={starts:f,values:h?d.map(w=>c[w]):d};return Lv(g,{maxErrorKm:r,errorKm:(w,_)=>h?Pv(a.sites[w],a.sites[_]):ps.network,kept:u[p>>1]})});return new t(Am({quarterDegrees:e,blockBits:n,sites:a.sites,ranges:l}))}};function Pv(t,e){return(t.position&&e.position?wc(t.position,e.position):ps.country)+(t.country===e.country?0:ps.country)+(t.region===e.region?0:ps.region)}var Iv=6371;function wc(t,e){let r=i=>i*Math.PI/180,[o,n]=[e.latitude-t.latitude,e.longitude-t.longitude].map(i=>Math.sin(r(i)/2)**2),s=o+Math.cos(r(t.latitude))*Math.cos(r(e.latitude))*n;return 2*Iv*Math.asin(Math.min(1,Math.sqrt(s)))}function Rv({latitude:t,countryCode:e,region:r}){return t!==void 0||e!==void 0||r!==void 0}function Nv(t,e){let r=new Uint8Array(e);for(let o=To[e]-1;o>=0;o--)r[o]=t%256,t=Math.floor(t/256);return r}function hc({v4:t,v6:e},r){return r===4?t:e}function Lv({starts:t,values:e},{maxErrorKm:r,errorKm:o,kept:n}){let s=new Ao,i=0,a=0;return t.forEach((c,u)=>{let l=t[u+1]??1/0;for(;n[a]<c;)a++;let f=n[a]<l;i>0&&!f&&l-c<1/0&&(l-c)*o(i,e[u])<r||(i=e[u],s.add(c,i))}),s.ranges()}function Cv(t,e,r){let o=2**(8*To[e]-r),n=new Float64Array(1024),s=0;return t.visitBounds(e,i=>{let a=Math.floor(i/2**r);for(let c of a*2**r===i?[a]:[a,a+1])if(!(c>=o||s>0&&n[s-1]===c)){if(s===n.length){let u=new Float64Array(2*s);u.set(n),n=u}n[s++]=c}}),n.subarray(0,s).sort().filter((i,a,c)=>a===0||i!==c[a-1])}function Em({starts:t,values:e},r){let o=Te(t.length,n=>t[n]>r)-1;return o<0?0:e[o]}var Ao=class{#e=[];#t=[];add(e,r){r!==(this.#t.at(-1)??0)&&(this.#e.push(e),this.#t.push(r))}ranges(){return{starts:Float64Array.from(this.#e),values:Uint32Array.from(this.#t)}}},gs=class{sites=[hs];#e=new Map;#t=new WeakMap;#r;constructor(e){this.#r=e/4}of(e){let r=this.#t.get(e);if(r!==void 0)return r;let{latitude:o,longitude:n,countryCode:s="",region:i=""}=e,a=this.ofSite({position:o===void 0||n===void 0?void 0:{latitude:o,longitude:n},country:Dv(s),region:Bv(i)});return this.#t.set(e,a),a}ofSite({position:e,country:r,region:o}){let n=c=>Math.round(c/this.#r)*this.#r,s={position:e&&{latitude:n(e.latitude),longitude:n(e.longitude)},country:r,region:o},i=`${s.position?.latitude} ${s.position?.longitude} ${r} ${o}`,a=this.#e.get(i);return a===void 0&&(a=s.position||r>0||o>0?this.sites.push(s)-1:0,this.#e.set(i,a)),a}};function Am({sites:t,ranges:e,...r}){let o=new Uint32Array(t.length);for(let{values:a}of[e[0],e[2]])for(let c of a)o[c]++;let n=Array.from({length:t.length-1},(a,c)=>c+1).filter(a=>o[a]>0).sort((a,c)=>o[c]-o[a]||a-c),s=new Uint32Array(t.length);n.forEach((a,c)=>s[a]=c+1);let i=({starts:a,values:c})=>({starts:a,values:c.map(u=>s[u])});return{...r,sites:[hs,...n.map(a=>t[a])],ranges:[i(e[0]),e[1],i(e[2]),e[3]]}}function Dv(t){return/^[A-Z]{2}$/.test(t)?26*(t.charCodeAt(0)-65)+t.charCodeAt(1)-64:0}function Bv(t){if(t==="")return 0;let e=2166136261;for(let r=0;r<t.length;r++)e=Math.imul(e^t.charCodeAt(r),16777619);return(e>>>16^e)&65535||1}var mc=class{#e=new Uint8Array(1024);#t=0;add(...e){for(let r of e){if(this.#t+8>this.#e.length){let o=new Uint8Array(2*this.#e.length);o.set(this.#e),this.#e=o}for(;r>=128;)this.#e[this.#t++]=128|r%128,r=Math.floor(r/128);this.#e[this.#t++]=r}}bytes(){return this.#e.subarray(0,this.#t)}},gc=class{#e;#t;#r=0;constructor(e,r){this.#e=e,this.#t=r}number(){let e=0;for(let r=1;;r*=128){this.#r>=this.#e.length&&this.fail("it ends too early");let o=this.#e[this.#r++];if(e+=(o&127)*r,o<128)return e;r>2**42&&this.fail("a number is too long")}}fail(e){throw new K(`the table of places is damaged: ${e}; use an earlier checkpoint`,{path:this.#t})}};function Uv(t){let e=new Float32Array(Math.ceil(t.length/3));for(let r=0,o=0;r<e.length;r++,o+=3)e[r]=t[o]*65536+(t[o+1]??0)*256+(t[o+2]??0);return e}function Zv(t){let e=new Uint8Array(3*t.length);for(let r=0,o=0;r<t.length;r++){let n=t[r];b(n>=0&&n<2**24,"a number of the table of places is out of range"),e[o++]=n>>16,e[o++]=n>>8,e[o++]=n}return e}var T=4294967295,qv=64,Xt=class{firstRow;numRows;#e;constructor(e,r){this.firstRow=e,this.numRows=r,this.#e=new Uint32Array(r)}row(e,r,o=!1){let n=r>>>0||1,{numRows:s}=this,i=this.#e,a=(e>>>0)%s;for(let c=0;c<Math.min(qv,s);c++){if(i[a]===n)return this.firstRow+a;if(i[a]===0)return o?(i[a]=n,this.firstRow+a):T;a=a+1===s?0:a+1}return T}get numOwned(){return this.#e.reduce((e,r)=>r===0?e:e+1,0)}save(e){Fv(this.#e,e.subarray(2*this.firstRow))}load(e){b(e.length>=2*(this.firstRow+this.numRows),`${e.length} numbers of keys`),_c(e.subarray(2*this.firstRow),this.#e)}};function Fv(t,e=new Float32Array(2*t.length)){for(let r=0;r<t.length;r++)e[2*r]=t[r]>>>16,e[2*r+1]=t[r]&65535;return e}function _c(t,e=new Uint32Array(t.length/2)){for(let r=0;r<e.length;r++)e[r]=t[2*r]*2**16+t[2*r+1];return e}function ws(t,e){let r=oe(t+e),o=oe(r^_s);return{hash1:r,hash2:o,length:e,row:T,isDropped:!1,isAllDropped:!1,numBytes:0,number:0,isWhole:!1}}var _s=2654435769;function Or(t,e){t.hash1=oe(t.hash1*257+e+1),t.hash2=oe(Math.imul(t.hash2,65599)+e+1),t.numBytes<To[t.length]&&(t.number=t.number*256+e),t.isWhole=++t.numBytes===t.length}function Mr(t,e,r=0){let o=(n,s)=>oe(n+s^Math.imul(n,s)^Math.imul(r,_s));return{hash1:o(t.hash1,e.hash1),hash2:o(t.hash2,e.hash2)}}function Oo(t,e,r){return r>0&&oe(t^e)<r*2**32}var Mo="coordinates.keys";function $o(t){return`coordinates.${t}`}function Tm(t){let e=Object.entries(fs($r(t))).map(([r,o])=>{let n=o[o.length-1];return[$o(r),[o.reduce((s,i)=>s*i)/n,n]]});return new Map([[Mo,[t.nodes,2]],...e])}function $r({nodes:t,folds:e,rank:r}){return{numNodes:t,numFolds:e,rank:r}}var xs=class{config;#e;#t;constructor(e){this.config=e,this.#e=new Xt(0,e.nodes)}load(e){this.#e.load(L(e,Mo));let r=Object.keys(fs($r(this.config))),o=Object.fromEntries(r.map(n=>[n,L(e,$o(n))]));this.#t=Yt.load($r(this.config),o)}save(e){let r=new Float32Array(2*this.config.nodes);this.#e.save(r),e.set(Mo,r);for(let[o,n]of Object.entries(this.#t?.save()??{}))e.set($o(o),n)}get numNodes(){return this.#e.numOwned}node(e,r,o=!1){return this.#e.row(e,r,o)}fit(e){let{nodes:r,rank:o,folds:n}=this.config,s={rank:o,numFolds:n,maxBytes:1/0};this.#t=vm({numNodes:r,...e},s)}hasCoordinates(e){return e!==T&&(this.#t?.hasCoordinates(e)??!1)}locate(e,r){let o=e.filter(({node:n})=>this.hasCoordinates(n)&&!r.has(n));return o.length===0?void 0:this.#t?.locate(o,r)}put(e){if(!(!this.#t||e.size===0)){this.#t=Yt.load(this.#t.size,this.#t.save());for(let[r,o]of e)this.#t.put(r,o)}}estimate(e,r,o={}){let{isTraining:n=!1,hidden:s=[]}=o,i=this.#t;if(!i||e===r&&e!==T)return;let a=n&&e!==T&&r!==T?i.foldOf(e,r):this.config.folds,[c,u]=[e,r].map((f,d)=>f!==T&&!s[d]&&i.hasCoordinates(f,a)?f:i.typical),l=i.estimate(c,u,a);return l&&{...l,isOfBoth:typeof c=="number"&&typeof u=="number"}}};var Kv=0,Gv=256,Vv=512,Wv=768,xc=772,Yv=0,Jv=xc,Xv=2*xc,Om=3*xc,Mm=Om+48,$m=Mm+26,zm=2**-10,Pm=22,Im=$m+Pm;function Rm(t){return Lm(t,e=>[Kv+(e>>8),Gv+(e&255)])}function Nm(t,e){return Lm(t,r=>{let o=(r>>8)-e;return o===0?[Vv+(r&255)]:[Wv+(o>0?2:0)+(Math.abs(o)>1?1:0)]})}function Lm(t,e){if("rttMs"in t){let i=Math.log2(Math.max(t.error,zm)/zm),a=Math.min(Pm-1,Math.floor(2*i));return[...e(we(t.rttMs)).map(c=>Xv+c),$m+a]}let{typicalCode:r,newestCode:o,spread:n,age:s}=t;return[...e(r).map(i=>Yv+i),...e(o).map(i=>Jv+i),Om+n,Mm+s]}var Qv={v1:266,v2:267},Po=t=>P().min(1).max(t),Cm=2**36,Dm=Nt({rows:P().min(16).max(2**24),seed:P().min(0).max(2**31-1).default(0),dropShare:v().min(0).max(.95).default(.1)}),eS=Nt({...Dm.shape,history:ot().default(!0)}),tS=Nt({nodes:P().min(16).max(2**24),rank:P().min(1).max(64).default(24),folds:P().min(4).max(30).multipleOf(2).default(4),dropShare:v().min(0).max(.95).default(.2)}),rS=Nt({tableSize:P().min(0).max(2**24).default(0),sources:U(O()).default([]),dropShare:v().min(0).max(.95).default(.3)}),oS=Nt({numLayers:Po(1024),width:Po(65536),numHeads:Po(1024),headDim:zh([32,64,128]),mlpWidth:Po(262144),sequenceLength:Po(65535),vocabulary:Ne(["v1","v2"]).default("v2"),rttEncoding:Ne(Gh).nullable().default(null),rttClipMs:v().min(.001).max(1e9).default(1e3),activation:Ne(["relu2","gelu","silu"]).default("relu2"),softcap:v().min(.001).max(1e6).nullable().default(15),qkNorm:ot().default(!0),keyShift:ot().default(!1),byteVectors:Ne(["random","ordinal"]).default("random"),places:rS.nullable().default(null),prefixVectors:Dm.nullable().default(null),pairVectors:eS.nullable().default(null),coordinates:tS.nullable().default(null)});function yc(t){let e=Rh(oS,t,"model");return nS(e),e}function nS(t){for(let r of["width","mlpWidth"])if(t[r]%4!==0)throw new Fe(`model.${r}`,`found ${t[r]}, expected a multiple of 4`);for(let r of["prefixVectors","pairVectors","coordinates"])if(t[r]&&t.vocabulary!=="v2")throw new Fe(`model.${r}`,`vocabulary ${t.vocabulary} does not support it, expected v2 or null`);if(t.places&&!t.prefixVectors)throw new Fe("model.places","model.prefixVectors is null, expected a table for the keys of places");if(t.rttEncoding!==null&&t.vocabulary!=="v1")throw new Fe("model.rttEncoding","vocabulary v2 has its own encoding, expected v1 or null");let e=iS(t);if(e>Cm)throw new Fe("model",`found ${e} parameters, expected at most ${Cm}`)}function ys({vocabulary:t,rttEncoding:e,rttClipMs:r}){return t==="v1"?{name:e??"float64",clipMs:r}:void 0}function ze(t){let{prefixVectors:e,pairVectors:r}=t;return(e?.rows??0)+(r?.rows??0)+sS(t)}function sS({pairVectors:t,coordinates:e}){return t?.history||e?Im:0}function J(t){return Qv[t.vocabulary]}function bs(t){let{width:e,mlpWidth:r}=t,o=t.numHeads*t.headDim,n=J(t),s=new Map([["wte.weight",[n,e]]]),i=ze(t);i>0&&s.set("address_embed.weight",[i,e]);for(let a=0;a<t.numLayers;a++){let c=`blocks.${a}`;s.set(`${c}.attn.q_proj.weight`,[o,e]),s.set(`${c}.attn.k_proj.weight`,[o,e]),s.set(`${c}.attn.v_proj.weight`,[o,e]),s.set(`${c}.attn.o_proj.weight`,[e,o]),s.set(`${c}.mlp.up_proj.weight`,[r,e]),s.set(`${c}.mlp.down_proj.weight`,[e,r])}return s.set("lm_head.weight",[n,e]),s}function vs(t){let e=bs(t),{prefixVectors:r,pairVectors:o}=t,n=(r?.rows??0)+(o?.rows??0);n>0&&e.set(Be,[n,2]),o?.history&&e.set(Ct,[o.rows,Xe]),t.places&&e.set(Io,[t.places.tableSize,1]);let s=t.coordinates?Tm(t.coordinates):[];return new Map([...e,...s])}var Be="address_embed.keys",Ct="address_embed.history",Io="places.table";function iS(t){let e=0;for(let r of bs(t).values())e+=r[0]*r[1];return e}var Um=46,Bm=58,Ro=8;function Ss(t){return t.includes(":")?aS(t):Zm(t,0)}function re(t){if(t.length===4)return t.join(".");if(t.length!==16)throw new RangeError(`Cannot write an address: found ${t.length} bytes, expected 4 or 16`);if(lS(t))return`::ffff:${t.subarray(12).join(".")}`;let e=Array.from({length:Ro},(s,i)=>t[2*i]<<8|t[2*i+1]),[r,o]=fS(e),n=e.map(s=>s.toString(16));return o<2?n.join(":"):`${n.slice(0,r).join(":")}::${n.slice(r+o).join(":")}`}function Zm(t,e){let r=new Uint8Array(4),o=e;for(let n=0;n<4;n++){if(n>0&&t.charCodeAt(o++)!==Um)return;let s=o,i=0;for(;o-s<3;o++){let c=t.charCodeAt(o)-48;if(!(c>=0&&c<=9))break;i=i*10+c}let a=o-s;if(a===0||i>255||a>1&&t.charCodeAt(s)===48)return;r[n]=i}return o===t.length?r:void 0}function aS(t){let e=new Uint8Array(16),r=0,o=0,n=-1;for(t.startsWith("::")&&([r,n]=[2,0]);r<t.length;){if(o===Ro)return;let s=cS(t,r);if(t.charCodeAt(s)===Um){let a=Zm(t,r);if(!a||o>Ro-2)return;e.set(a,2*o),o+=2;break}if(s===r||s-r>4)return;let i=parseInt(t.slice(r,s),16);if(e[2*o]=i>>8,e[2*o+1]=i&255,o++,s===t.length)break;if(t.charCodeAt(s)!==Bm||s+1===t.length)return;if(r=s+1,t.charCodeAt(r)===Bm){if(n>=0)return;n=o,r++}}return uS(e,o,n)}function cS(t,e){let r=e;for(;r<t.length;r++){let o=t.charCodeAt(r),n=o>=48&&o<=57,s=o|32;if(!n&&!(s>=97&&s<=102))break}return r}function uS(t,e,r){if(r<0)return e===Ro?t:void 0;if(e===Ro)return;let o=2*(e-r);return t.copyWithin(16-o,2*r,2*e),t.fill(0,2*r,16-o),t}function lS(t){return t.subarray(0,10).every(e=>e===0)&&t[10]===255&&t[11]===255}function fS(t){let e=0,r=0,o=0;return t.forEach((n,s)=>{o=n===0?o+1:0,o>r&&([e,r]=[s-o+1,o])}),[e,r]}function bc(t){let{bytes:e,length:r}=jm(t);return No(e,r)}function qm(t){let{bytes:e,length:r}=jm(t);return e.some((o,n)=>(o&~vc(r,n))!==0)}function No(t,e=t.length*8){return{bytes:t.map((r,o)=>r&vc(e,o)),length:e}}function ee({bytes:t,length:e}){return e===t.length*8}function Ue(t){let e=re(t.bytes);return ee(t)?e:`${e}/${t.length}`}function Fm({bytes:t,length:e},r){return{first:t[r],last:t[r]|~vc(e,r)&255}}function vc(t,e){return 255<<8-Math.min(8,Math.max(0,t-8*e))&255}function Lo(t){return/^AS\d+$/i.test(t)?"; this is an AS number: give one of its prefixes":/^(?=.*[a-z])[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?$/i.test(t)?"; this looks like a host name: resolve it and give its address":""}function jm(t){let e=dS(t);if("fault"in e)throw new y(`Cannot read ${JSON.stringify(t)}: ${e.fault}`);return e}function dS(t){let e=t.indexOf("/"),r=Ss(e<0?t:t.slice(0,e));if(!r)return{fault:`expected an IPv4 or IPv6 address or prefix${Lo(t)}`};let o=r.length*8;if(e<0)return{bytes:r,length:o};let n=t.slice(e+1),s=/^(0|[1-9]\d{0,2})$/.test(n)?Number(n):NaN;return s<=o?{bytes:r,length:s}:{fault:`found length ${n||"none"}, expected 0 to ${o}`}}var pS=2**18,hS=2**20,Pr=2**21,Qt={measurements:0,lastS:null},F=4,Ec=class{columns;isTruncated;#e;constructor(e,r){this.columns=e,this.isTruncated=r;let{v4:o,v6:n,seen:s,pairs:i}=e;this.#e=o.length,b(s.length===F*(o.length+n.length/F)&&i.length%F===0,"the columns of known addresses are of different lengths")}get numAddresses(){return this.columns.seen.length/F}get numPairs(){return this.columns.pairs.length/F}address(e){let r=this.#t(e);return r<0?void 0:this.#n(r)}pair(e,r){return this.measuredIn(e,{bytes:r,length:8*r.length})}measuredIn(e,r){let o=this.#t(e);if(o<0)return Qt;let{pairs:n}=this.columns,[s,i]=this.#r(r),a=0,c=0,u=Sc(this.numPairs,l=>n[F*l]-o||n[F*l+1]-s);for(let l=F*u;n[l]===o&&n[l+1]<i;l+=F)a+=n[l+2],c=Math.max(c,n[l+3]);return Do(a,c)}destinationsOf(e){let r=this.#t(e);if(r<0)return[];let{pairs:o}=this.columns,n=[],s=Sc(this.numPairs,i=>o[F*i]-r);for(let i=s;i<this.numPairs&&o[F*i]===r;i++){let a=F*i,c={measurements:o[a+2],lastS:o[a+3]};n.push({address:this.#n(o[a+1]),seen:c})}return n}get pairDiscount(){let e=[0,0,0];for(let r=2;r<this.columns.pairs.length;r+=F)this.columns.pairs[r]<=2&&e[this.columns.pairs[r]]++;return(e[1]+1)/(e[1]+2*e[2]+3)}*destinations(){for(let e=0;e<this.numAddresses;e++)this.columns.seen[F*e+2]>0&&(yield this.#n(e))}*addresses(){for(let e=0;e<this.numAddresses;e++)yield this.#n(e)}countIn(e){let[r,o]=this.#r(e);return o-r}prefixAround(e){for(let r of e.length===4?[24,16,8]:[64,48,32]){let o=No(e,r),n=this.countIn(o);if(n>0)return{prefix:o,numKnown:n}}}#t(e){let[r,o]=this.#r({bytes:e,length:8*e.length});return o>r?r:-1}#r({bytes:e,length:r}){let o=e.map((n,s)=>n|255>>Math.min(8,Math.max(0,r-8*s)));return[this.#o(e,!1),this.#o(o,!0)]}#o(e,r){let{v4:o,v6:n}=this.columns,s=Vm(e),i=r?-1:0,[a,c,u]=s.length===1?[o,1,0]:[n,F,this.#e];return u+Sc(a.length/c,l=>Wm(a,c*l,s)||i)}#n(e){let{v4:r,v6:o,seen:n}=this.columns,s=e<this.#e?r.subarray(e,e+1):o.subarray(F*(e-this.#e),F*(e-this.#e+1)),i=F*e;return{bytes:Uint8Array.from({length:4*s.length},(a,c)=>s[c>>2]>>>24-8*(c&3)),asSource:Do(n[i],n[i+1]),asDestination:Do(n[i+2],n[i+3])}}};function Do(t,e){return t===0?Qt:{measurements:t,lastS:e>0?e:null}}function Sc(t,e){let r=0,o=t;for(;r<o;){let n=r+o>>>1;e(n)<0?r=n+1:o=n}return r}function Vm(t){let e=new DataView(t.buffer,t.byteOffset,t.length);return Uint32Array.from({length:t.length/4},(r,o)=>e.getUint32(4*o))}function Wm(t,e,r){for(let o=0;o<r.length;o++)if(t[e+o]!==r[o])return t[e+o]-r[o];return 0}var Zo=class t{#e=new Map;#t=[];#r=[];#o=new Map;#n=[];#s=!1;#a=0;#i=1/0;#c=-1/0;static of({known:{columns:e,isTruncated:r},summary:o}){let n=new t,{v4:s,v6:i,seen:a,pairs:c}=e;for(let u=0;u<s.length;u++)n.#u(s.subarray(u,u+1));for(let u=0;u<i.length;u+=F)n.#u(i.subarray(u,u+F));a.forEach((u,l)=>n.#r[l]=u);for(let u=0;u<c.length;u+=F)n.#o.set(c[u]*Pr+c[u+1],u/F),n.#n.push(c[u+2],c[u+3]);return n.#s=r,n.#a=o.measurements,n.#i=o.startS??1/0,n.#c=o.endS??-1/0,n}id(e){return this.#u(Vm(e))}#u(e){let r=e.join(),o=this.#e.get(r);if(o!==void 0)return o;let n=this.#t.length;return n===Pr?(this.#s=!0,-1):(this.#e.set(r,n),this.#t.push(e),this.#r.push(0,0,0,0),n)}add(e,r,o){if(this.#a++,o!==null&&(this.#i=Math.min(this.#i,o),this.#c=Math.max(this.#c,o)),e<0||r<0)return;kc(this.#r,F*e,o),kc(this.#r,F*r+2,o);let n=e*Pr+r,s=this.#o.get(n);if(s===void 0){if(s=this.#o.size,s===Pr){this.#s=!0;return}this.#o.set(n,s),this.#n.push(0,0)}kc(this.#n,2*s,o)}summary(e){let r=n=>this.#t.filter((s,i)=>this.#r[F*i+n]>0).length,o=this.#i<1/0;return{origin:e.origin,isSynthetic:e.isSynthetic,startS:o?this.#i:null,endS:o?this.#c:null,measurements:this.#a,sources:r(0),destinations:r(2)}}table(e=pS,r=hS){let o=this.#r,n=p=>o[F*p]+o[F*p+2],s=Hm(this.#t.map((p,h)=>h),e,n);s.sort((p,h)=>{let[g,m]=[this.#t[p],this.#t[h]];return g.length-m.length||Wm(g,0,m)});let i=new Map(s.map((p,h)=>[p,h])),a=[];for(let[p,h]of this.#o){let g=i.get(Math.floor(p/Pr)),m=i.get(p%Pr);g===void 0||m===void 0||a.push([g,m,this.#n[2*h],this.#n[2*h+1]])}let c=Hm(a,r,([,,p])=>p);c.sort((p,h)=>p[0]-h[0]||p[1]-h[1]);let u=s.filter(p=>this.#t[p].length===1),l=s.slice(u.length),f={v4:Uint32Array.from(u,p=>this.#t[p][0]),v6:Uint32Array.from(l.flatMap(p=>[...this.#t[p]])),seen:Uint32Array.from(s.flatMap(p=>o.slice(F*p,F*(p+1)))),pairs:Uint32Array.from(c.flat())},d=s.length===this.#t.length&&c.length===this.#o.size;return new Ec(f,this.#s||!d)}};function kc(t,e,r){t[e]++,t[e+1]=Math.max(t[e+1],r??0)}function Hm(t,e,r){return t.length<=e?t:t.toSorted((o,n)=>r(n)-r(o)).slice(0,e)}function Co(t,e=Qt){let{measurements:r,lastS:o}=Do(t.measurements+e.measurements,Math.max(t.lastS??0,e.lastS??0));return{measurements:r,inAdaptation:e.measurements,lastS:o}}function ks({known:t,adaptation:e},r,o){return Co(t.measuredIn(r,o),e?.known.measuredIn(r,o))}function Es(t,e,r){if(!t){let h="No table of the training data is at hand: whether these addresses were measured is not known.",g=Co(Qt);return{kind:"network",text:h,src:g,dst:g,pair:g}}let{known:o,summary:n,adaptation:s}=t,[i,a]=[e,r].map(h=>Co(Km(o,h),s&&Km(s.known,h))),c=ee(e)&&ee(r),u=c?ks(t,e.bytes,r):Co(Qt),l=c?ks(t,r.bytes,e):Co(Qt),f=u.measurements+l.measurements>0?"pair":i.measurements>0?a.measurements>0?"addresses":"source":a.measurements>0?"destination":"network",d=(...h)=>` a guess${h.map((g,m)=>`${m===0?" from ":" and "}${mS(o,g)}`).join("")}.`,p=[{pair:u.measurements>0?`Pair ${Ir(u)}.`:`Pair ${Ir(l)}, in the other direction only.`,addresses:`Source ${Ir(i)}, destination ${Ir(a)}, the pair never: an estimate from each.`,source:`Source ${Ir(i)}, destination never:${d(r)}`,destination:`Destination ${Ir(a)}, source never:${d(e)}`,network:`Neither ${c?"address":"place as one address"} is in the training data:${d(e,r)}`}[f]];return(o.isTruncated||s?.known.isTruncated)&&f!=="pair"&&p.push("Only the most measured addresses and pairs are listed."),n.isSynthetic&&p.push("The model knows a synthetic Internet, not the real one."),{kind:f,text:p.join(" "),src:i,dst:a,pair:u}}function Km(t,e){let r=ee(e)?t.address(e.bytes):void 0;if(!r)return Qt;let{asSource:o,asDestination:n}=r,s=Math.max(o.lastS??-1/0,n.lastS??-1/0);return Do(o.measurements+n.measurements,s)}function mS(t,e){let r=ee(e)?t.prefixAround(e.bytes):{prefix:e,numKnown:t.countIn(e)};if(!r)return`the whole network (nothing is known near ${Ue(e)})`;let{prefix:o,numKnown:n}=r;return`${Ue(o)} (${n} known ${n===1?"address":"addresses"})`}function Ir({measurements:t,inAdaptation:e,lastS:r}){if(t===0)return"never measured";let o=t===1?"measured once":`measured ${t} times`,n=e===t?`in ${t} ${t===1?"measurement":"measurements"} of the adaptation`:e>0?`${o}, ${e} of them in the adaptation`:o;return r===null?n:`${n}, last on ${new Date(r*1e3).toISOString().slice(0,10)}`}var Bo=I({measurements:P(),in_adaptation:P().describe("how many of them the model was adapted to"),last_seen:O().nullable().describe("ISO 8601; null if never, or without a known time")}),As=I({kind:Ne(["pair","addresses","source","destination","network"]).describe("whether the pair, both addresses, one of them or none were measured"),text:O().describe("the same for people"),src:Bo,dst:Bo,pair:Bo}),Gm=I({start:O().nullable().describe("ISO 8601; null if unknown"),end:O().nullable(),measurements:P(),sources:P(),destinations:P()}),Ym=I({origin:O().describe("what the measurements are, such as names of files; empty if unknown"),is_synthetic:ot().nullable().describe("whether of a synthetic Internet; null if unknown"),...Gm.shape,adaptation:Gm.nullable().describe("what the model was adapted to afterwards")});function Ts({kind:t,text:e,src:r,dst:o,pair:n}){return{kind:t,text:e,src:Uo(r),dst:Uo(o),pair:Uo(n)}}function Uo({measurements:t,inAdaptation:e,lastS:r}){return{measurements:t,in_adaptation:e,last_seen:gS(r)}}function gS(t){return t===null?null:new Date(t*1e3).toISOString()}var Oe="address_embed.weight",wS={nodes:new Uint32Array,keys:new Float32Array,values:new Float32Array};function _S({coordinates:t}){return t?lc($r(t),0).reduce((e,{length:r})=>e+r,0):0}function Jm({prefixVectors:t,pairVectors:e}){return{firstPair:t?.rows??0,length:e?.history?Xe:0}}function Xm(t,e,r){let o=new Map;return eg(t,r,({name:n,start:s,length:i,values:a,at:c})=>{let u=o.get(n)??L(e,n).slice();o.set(n,u),u.set(a.subarray(c,c+i),s)}),new Map([...e,...o])}function Qm(t,e,r,o=wS.nodes){let n={rows:r,keys:new Float32Array(2*r.length),values:new Float32Array(t.width*r.length),history:new Float32Array(Jm(t).length*r.length),coordinates:{nodes:o,keys:new Float32Array(2*o.length),values:new Float32Array(_S(t)*o.length)}};return eg(t,n,({name:s,start:i,length:a,values:c,at:u})=>{c.set(L(e,s).subarray(i,i+a),u)}),n}function eg(t,e,r){let{rows:o,keys:n,values:s,history:i,coordinates:{nodes:a,...c}}=e,{width:u,coordinates:l}=t,{firstPair:f,length:d}=Jm(t);if(b(o.every(h=>h<ze(t)),"rows of another model"),o.forEach((h,g)=>{r({name:Be,start:2*h,length:2,values:n,at:2*g}),r({name:Oe,start:u*h,length:u,values:s,at:u*g}),!(h<f||d===0)&&r({name:Ct,start:d*(h-f),length:d,values:i,at:d*g})}),b(a.every(h=>h<(l?.nodes??0)),"coordinates of another model"),!l)return;let p=0;a.forEach((h,g)=>{r({name:Mo,start:2*h,length:2,values:c.keys,at:2*g});for(let{part:m,start:w,length:_}of lc($r(l),h))r({name:$o(m),start:w,length:_,values:c.values,at:p}),p+=_})}function Me(t){return t.shape.reduce((e,r)=>e*r,1)}function bt(t){return Me(t)*zc(t)}function qo(t,e="f32"){return Math.max(16,Math.ceil(bt({shape:t,dtype:e})/16)*16)}var tg=128;function Ac(t,e){let r=0,o=[...t.values()].map(s=>{let i=Math.ceil(r/tg)*tg;return r=i+Me({shape:s}),i}),n=e([r]);return new Map([...t].map(([s,i],a)=>[s,Tc(n,o[a],i,s)]))}function Tc(t,e,r,o=t.label){return{...t,label:o,shape:r,offsetBytes:t.offsetBytes+e*zc(t)}}function ye(t){let[e,r]=[t[0],t[t.length-1]];return{...e,shape:[ct(r,e)+Me(r)]}}function zs([t,e]){return e.buffer===t.buffer&&ct(e,t)===Me(t)?ye([t,e]):void 0}function Rr(t,e){return[...Map.groupBy(t,o=>e(o).buffer).values()].map(o=>o.sort((n,s)=>e(n).offsetBytes-e(s).offsetBytes))}function ct(t,e){return(t.offsetBytes-e.offsetBytes)/zc(t)}function zc({dtype:t}){return t==="f16"?2:4}var Oc=256,Mc=65535;function se(t){let e=Math.ceil(t/Mc);return[Math.ceil(t/e),e]}var Ze=class{registry;label;#e;#t;#r;#o;#n;#s;#a;constructor(e,r){this.registry=e,this.label=r,this.#e=[],this.#t=[],this.#o=0,this.#n=0,this.#r=e.gpu}add(e){b(!this.#a,`program ${this.label} is already built`);let r=this.#i(e);if(this.#e.push({dispatch:e,kernel:r,paramsOffsetBytes:this.#o}),r.interface.params.length>0){let o=r.interface.params.length*4;this.#o+=Math.ceil(o/Oc)*Oc}return this}mark(e){this.#t.push({label:e,end:this.#e.length})}scratch(e){b(!this.#s,`scratch memory of program ${this.label} is already allocated`),this.#n=Math.max(this.#n,e);let r=()=>this.#r.tensor(`${this.label} scratch`,[this.#n]).buffer,o=()=>this.#s??=r();return{label:"scratch",shape:[e],offsetBytes:0,get buffer(){return o()}}}get length(){return this.#e.length}get bytes(){return this.#e.reduce((e,{dispatch:r})=>e+rg(r),0)}run(){let e=this.#r.device.createCommandEncoder({label:this.label});this.encode(e),this.#r.device.queue.submit([e.finish()])}destroy(){this.#a?.uniforms.destroy(),this.#s?.destroy()}runInParts(e){let r=0;for(let{label:o,end:n}of[...this.#t,{label:"",end:this.#e.length}]){let s=this.#r.device.createCommandEncoder({label:`${this.label}: ${o}`});this.encode(s,{start:r,end:n}),e(o,s),this.#r.device.queue.submit([s.finish()]),r=n}}encode(e,{start:r=0,end:o=this.#e.length}={}){let{bindGroups:n}=this.#c(),s=e.beginComputePass({label:this.label});for(let i=r;i<o;i++)xS(s,this.#e[i],n[i]);s.end()}async profile(){let{device:e}=this.#r,r=[];await this.#r.finish();for(let[o,{dispatch:n,kernel:s}]of this.#e.entries()){let i=e.createCommandEncoder();this.encode(i,{start:o,end:o+1});let a=i.finish(),c=await this.#r.timeS(()=>e.queue.submit([a]));r.push({label:n.label??s.name,calls:1,seconds:c,flops:n.flops??0,bytes:rg(n)})}return this.#r.check(),r}#i(e){let r=this.registry.get(e.kernel,e.overrides,vS(e));return SS(r,e),r}#c(){if(this.#a)return this.#a;let{device:e}=this.#r,r=new ArrayBuffer(Math.max(Oc,this.#o));for(let n of this.#e)bS(new DataView(r,n.paramsOffsetBytes),n);let o=e.createBuffer({label:`${this.label} params`,size:r.byteLength,usage:GPUBufferUsage.UNIFORM|GPUBufferUsage.COPY_DST});return e.queue.writeBuffer(o,0,r),this.#a={uniforms:o,bindGroups:this.#e.map(n=>yS(e,n,o))},this.#a}};function xS(t,{kernel:e,dispatch:r},o){let[n,s=1,i=1]=r.grid;t.setPipeline(e.pipeline),t.setBindGroup(0,o),t.dispatchWorkgroups(n,s,i)}function yS(t,e,r){let{kernel:o,dispatch:n}=e;return t.createBindGroup({label:n.label??o.name,layout:o.layout,entries:o.interface.bindings.map(({name:s,index:i,access:a})=>{if(a==="uniform"){let u=Math.ceil(o.interface.params.length*4/16)*16;return{binding:i,resource:{buffer:r,offset:e.paramsOffsetBytes,size:u}}}let c=n.bindings[s];return{binding:i,resource:{buffer:c.buffer,offset:c.offsetBytes}}})})}function rg({bindings:t}){let e=Object.values(t),r=({buffer:o,offsetBytes:n},s)=>e.findIndex(i=>i.buffer===o&&i.offsetBytes===n)===s;return e.filter(r).reduce((o,n)=>o+bt(n),0)}function bS(t,{kernel:e,dispatch:r}){e.interface.params.forEach(({name:o,type:n},s)=>{let i=r.params?.[o]??0;n==="f32"?t.setFloat32(s*4,i,!0):n==="u32"?t.setUint32(s*4,i,!0):t.setInt32(s*4,i,!0)})}function vS({bindings:t}){return Object.entries(t).flatMap(([e,{dtype:r}])=>r==="f16"?[e]:[])}function SS(t,e){let r=t.interface.bindings.filter(({access:o})=>o!=="uniform").map(({name:o})=>o);og(t,"binding",r,Object.keys(e.bindings)),og(t,"parameter",t.interface.params.map(({name:o})=>o),Object.keys(e.params??{}));for(let o of e.grid)if(o!==void 0&&!(o>=1&&o<=Mc&&Number.isInteger(o)))throw new q(t.name,`the grid is [${e.grid}], expected 1 to ${Mc} workgroups`)}function og(t,e,r,o){let n=r.find(i=>!o.includes(i));if(n)throw new q(t.name,`${e} ${n} is missing`);let s=o.find(i=>!r.includes(i));if(s)throw new q(t.name,`${e} ${s} is unknown; known are ${r.join(", ")}`)}function V(t,e,r){for(let[o,n]of Object.entries(e))if(!(n>0&&n%r===0))throw new q(t,`${o} is ${n}, expected a positive multiple of ${r}`)}function A(t,e,r){if(!(e>0&&Number.isInteger(e)))throw new q(t,`the length is ${e}, expected at least 1`);for(let[o,n]of Object.entries(r))if(Me(n)<e)throw new q(t,`${o} (tensor ${n.label}) has the shape [${n.shape}], expected ${e} elements`)}var kS=4;function er(t,e){let{tokens:r,table:o,x:n,rows:s,width:i}=e,a="embedding_forward";V(a,{width:i},4),A(a,s,{tokens:r}),A(a,s*i,{x:n}),t.add({kernel:a,bindings:{tokens:r,table:o,x:n},params:{rows:s,width:i},grid:se(s)})}function Fo(t,e){return e+1+t}function Os(t,e,{perRow:r=1,numUses:o=t.length}={}){let n=new Uint32Array(Fo(o,e));for(let i=0;i<t.length;i++)t[i]<e&&n[t[i]+1]++;let s=n[0]=e+1;for(let i=0;i<e;i++){let a=n[i+1];n[i+1]=s,s+=a}for(let i=0;i<t.length;i++)t[i]<e&&(n[n[t[i]+1]++]=Math.floor(i/r));return n}function ng(t,e){let{tokenRows:r,dx:o,dTable:n,rows:s,width:i,vocabSize:a,numUses:c=s}=e,u="embedding_backward";V(u,{width:i},4),A(u,Fo(c,a),{tokenRows:r}),A(u,s*i,{dx:o}),A(u,a*i,{dTable:n}),t.add({kernel:u,bindings:{token_rows:r,dx:o,d_table:n},params:{width:i},grid:[a,Math.ceil(i/(4*kS*t.registry.lanes))]})}var Dt=5,ES=5,$c=2*Dt+ES,tr={wide:256,narrow:257,country:258,region:259,as:260,distance:261,misplaced:262},AS=[[2,1],[0,2],[4,3]],[TS,zS]=[20,5];function ig(t,{position:e,country:r,region:o,asNumber:n}){return{position:e,steps:[e&&rr(t,tr.wide,...sg(e,TS)),e&&rr(t,tr.narrow,...sg(e,zS)),r>0?rr(t,tr.country,r):void 0,o>0?rr(t,tr.region,r,o):void 0,n>0?rr(t,tr.as,n):void 0]}}function Pc(t,e,r){let o=AS.map(([s,i])=>{let[a,c]=[e.steps[s],r.steps[s]];return a&&c&&Mr(a,c,i)});if(!e.position||!r.position)return[...o,void 0,void 0];let n=4*Math.log2(wc(e.position,r.position)+OS);return[...o,...[0,.5].map((s,i)=>rr(t,tr.distance,i,Math.floor(n+s)))]}function Ic(t,e){return rr(t,tr.misplaced,e.hash1,e.hash2)}var OS=50;function sg({latitude:t,longitude:e},r){return[Math.round((t+90)/r),Math.round((e+180)/r)%(360/r)]}function rr(t,e,...r){let o=oe(t+e),n=oe(o^_s);for(let s of r)o=oe(Math.imul(o,257)+s+1),n=oe(Math.imul(n,65599)+s+1);return{hash1:o,hash2:n}}var Rc=9;function be({places:t}){return Rc+(t?$c:0)}var ag=new WeakMap,cg={position:void 0,country:0,region:0,asNumber:0},MS=2**15,$S=[3,1,2,0,4],PS=3,ut=class{config;#e;#t;#r;#o;#n;#s;coordinates;constructor(e){this.config=e,this.#s=new Map;let{prefixVectors:r,pairVectors:o,coordinates:n}=e;n&&(this.coordinates=new xs(n));let s=r?.rows??0;r&&(this.#e=new Xt(0,s)),o&&(this.#t=new Xt(s,o.rows),o.history&&(this.#r=new ss(o.rows)))}load(e){this.#e?.load(L(e,Be)),this.#t?.load(L(e,Be)),this.#r?.load(L(e,Ct)),this.coordinates?.load(e),this.config.places&&this.usePlaces(L(e,Io))}usePlaces(e){if(this.#s.clear(),e===this.#o)return;this.#o=e;let r=ag.get(e);r||ag.set(e,r=ms.decode(e,Io)),this.#n=r}save(e){let r=new Float32Array(2*((this.#e?.numRows??0)+(this.#t?.numRows??0)));this.#e?.save(r),this.#t?.save(r),r.length>0&&e.set(Be,r),this.#r&&e.set(Ct,this.#r.save()),this.coordinates?.save(e),this.config.places&&this.#o&&e.set(Io,this.#o)}claim(e,r){this.#f(e,r);for(let o of[e,r])this.rowsOfPrefixes(o,{claims:!0});return this.rowOfPair(e,r,{claims:!0})}remember(e,r){this.#t&&e!==T&&this.#r?.add(e-this.#t.firstRow,r)}selectedRow(e){return(this.#e?.numRows??0)+(this.#t?.numRows??0)+e}get numPrefixes(){return this.#e?.numOwned??0}get numPairs(){return this.#t?.numOwned??0}rowsOfPrefixes(e,{claims:r=!1}={}){let o=[];return this.#p(e,({hash1:n,hash2:s})=>{o.push(this.#e?.row(n,s,r)??T)}),o}rowOfAddress(e,{claims:r=!1}={}){let{hash1:o,hash2:n}=this.#p(e);return this.#e?.row(o,n,r)??T}claimNode(e){return this.nodeOf(e,{claims:!0})}nodeOf(e,{claims:r=!1}={}){let{hash1:o,hash2:n}=this.#p(e);return this.coordinates?.node(o,n,r)??T}rowOfPair(e,r,{claims:o=!1}={}){let{hash1:n,hash2:s}=this.#h(this.#p(e),this.#p(r));return this.#t?.row(n,s,o)??T}prefixRow(e,{isTraining:r,context:o}){let{prefixVectors:n}=this.config;if(!this.#e||!n)return T;let s=this.#a(e,n.dropShare);return r&&Oo(e.hash2,o,s)&&(e.isDropped=!0,e.isAllDropped=e.numBytes===1),e.isDropped?T:this.#e.row(e.hash1,e.hash2)}#a({length:e,numBytes:r},o){let{places:n}=this.config;return n?n.dropShare*(r===1?Dt+1:1)/(Dt+e):1-(1-o)**(1/e)}#i(e,r,{isTraining:o,context:n}){if(!this.#n||!this.#e)return[];let s=this.#e,i=[e,r].map(c=>this.#c(c,c.number,c.length)),a=new Array($c).fill(T);return[e,r].forEach((c,u)=>{let l=this.#l(c,{isTraining:o,context:n});for(let f=0;f<l;f++){let d=i[u].steps[f];d&&(a[u*Dt+f]=s.row(d.hash1,d.hash2))}}),Pc(this.#d,i[0],i[1]).forEach((c,u)=>{let l=u<PS&&c&&o&&Oo(c.hash2,n,this.config.places?.dropShare??0);c&&!l&&(a[2*Dt+u]=s.row(c.hash1,c.hash2))}),a}#c(e,r,o){let n=this.#s.get(e.hash1);if(n?.hash2===e.hash2)return n.path;let s=this.#n?.locate(r,o)??cg,i=Ic(this.#d,e),a=this.#e?.row(i.hash1,i.hash2)!==T,c=ig(this.#d,a?{...cg,asNumber:s.asNumber}:s);return this.#s.size===MS&&this.#s.clear(),this.#s.set(e.hash1,{hash2:e.hash2,path:c}),c}#u(e,r){let{coordinates:o}=this,{steps:n}=this.#c(e,e.number,e.length),s=this.#l(e,r);for(let i of $S){let a=n[i];if(!a||i>=s||!o)continue;let c=o.node(a.hash1,a.hash2);if(o.hasCoordinates(c))return c}return T}#l({isAllDropped:e,hash2:r},{isTraining:o,context:n}){return o&&e?oe(~r^n)%(Dt+1):Dt}claimPlaceNodes(e){if(!this.#n||!this.coordinates)return[];let{steps:r}=this.#c(this.#p(e),zo(e),e.length===4?4:16);return r.flatMap(o=>{let n=o?this.coordinates?.node(o.hash1,o.hash2,!0)??T:T;return n===T?[]:[n]})}#f(e,r){if(!this.#n)return;let o=[e,r].map(s=>this.#c(this.#p(s),zo(s),s.length===4?4:16)),n=[...o.flatMap(({steps:s})=>s),...Pc(this.#d,o[0],o[1])];for(let s of n)s&&this.#e?.row(s.hash1,s.hash2,!0)}placeOf(e){return this.#n?.locate(zo(e),e.length===4?4:16)}isMisplaced(e,{claims:r=!1}={}){let o=Ic(this.#d,this.#p(e)),n=this.#n&&this.#e?.row(o.hash1,o.hash2,r);return r&&this.#s.clear(),n!==void 0&&n!==T}pairOf(e,r,o){let{isTraining:n,context:s}=o,{hash1:i,hash2:a}=this.#h(e,r),c=this.config.pairVectors?.dropShare??0,[u,l]=[i,a].map(h=>n&&Oo(h,s,c)),d=e.isDropped||r.isDropped||u||l?T:this.#t?.row(i,a)??T,p=this.#i(e,r,o);return{hash1:i,hash2:a,source:e,destination:r,row:d,isUnknown:u,placeRows:p}}historyOf({hash1:e,row:r,isUnknown:o},{rttHistory:n,recent:s},i){if(!this.#t||!this.#r)return;if(n!==void 0)return o?void 0:n??void 0;let{timeS:a}=i,c=s??i.rttsOf(e);return s||r===T?nm(c,a):this.#r.rttHistory(r-this.#t.firstRow,{timeS:a,newer:c})}estimateOf({hash1:e,source:r,destination:o},{isTraining:n,context:s}){let{coordinates:i}=this;if(!i)return;let a=[r,o],c=n&&Oo(~e,s,i.config.dropShare),u=a.map(({isDropped:m},w)=>n&&(m||c&&(e&1)===w)),l=a.map(({hash1:m,hash2:w})=>i.node(m,w));if(!this.#n)return i.estimate(l[0],l[1],{isTraining:n,hidden:u});let f=a.map((m,w)=>u[w]||!i.hasCoordinates(l[w])?this.#u(m,{isTraining:n,context:s}):T),d=f.map(m=>m!==T),[p,h]=l.map((m,w)=>d[w]?f[w]:m);if(p===h)return i.estimate(l[0],l[1],{isTraining:n,hidden:u});let g=i.estimate(p,h,{isTraining:n,hidden:u.map((m,w)=>m&&!d[w])});return g&&{...g,isOfBoth:g.isOfBoth&&!d.includes(!0)}}begin(e){return ws(this.#d,e)}get#d(){return this.config.prefixVectors?.seed??this.config.pairVectors?.seed??0}#h(e,r){let{prefixVectors:o,pairVectors:n}=this.config,s=o&&n?n.seed-o.seed:0;return Mr(e,r,s)}#p(e,r=()=>{}){let o=this.begin(e.length===4?4:16);for(let n of e)Or(o,n),r(o);return o}};var IS={isTraining:!1,context:0},RS=3,NS=Rc,Bt=class t{#e;#t;#r;#o;#n;#s;#a=!1;#i;#c=new is;constructor(e){this.#e=e,this.#t=be(e.config)}clone(){let e=new t(this.#e);return e.#n=this.#n&&{...this.#n},e.#r=this.#r===this.#n?e.#n:this.#r,e.#o=this.#o===this.#n?e.#n:this.#o,e.#s=this.#s,e.#a=this.#a,e.#i=this.#i,e.#c=this.#c.clone(),e}read(e,r,o,n=IS){r.fill(T,o,o+this.#t);let s=e>=11&&e<267;if(n.rttHistory===void 0&&this.#c.read(e),s&&this.#a&&(this.#d(r,o),this.#i&&this.#f(r,o,Nm(this.#i,e-11))),this.#a=e===8,s){this.#n&&(r[o]=this.#l(this.#n,e-11,n));return}switch(this.#n=void 0,e){case 0:this.#c.end(this.#s?.hash1),this.#r=this.#o=this.#s=void 0;break;case 1:case 2:this.#n=this.#r=this.#u(e===1?4:16);break;case 3:case 4:this.#n=this.#o=this.#u(e===3?4:16);break;case 8:this.#i=this.#s&&(this.#e.historyOf(this.#s,n,this.#c)??this.#e.estimateOf(this.#s,n)),this.#d(r,o),this.#i&&this.#f(r,o,Rm(this.#i))}}#u(e){return this.#s=void 0,this.#e.begin(e)}#l(e,r,o){Or(e,r);let n=this.#e.prefixRow(e,o);n!==T&&(e.row=n),e.isWhole&&(this.#n=void 0);let[s,i]=[this.#r,this.#o];return s?.isWhole&&i?.isWhole&&(this.#s=this.#e.pairOf(s,i,o)),n}#f(e,r,o){o.forEach((n,s)=>e[r+RS+s]=this.#e.selectedRow(n))}#d(e,r){let[o,n]=[this.#r,this.#o];e[r+2]=this.#s?.row??T,e[r+2]===T&&((!this.#i||"isOfBoth"in this.#i)&&e.set(this.#s?.placeRows??[],r+NS),!(this.#i&&!LS(this.#i))&&(o?.isWhole&&(e[r]=o.row),n?.isWhole&&(e[r+1]=n.row)))}};function LS(t){return"isOfBoth"in t&&!t.isOfBoth}function nr(t,{batchSize:e,sequenceLength:r,sequencesPerStep:o=e,freeRows:n}){return n??Math.min(ze(t),o*r*(t.places?2:1))}function jo({places:t},{batchSize:e,sequenceLength:r}){return e*(t?4:2)*r}function Ho({tokens:t,segmentStart:e,histories:r},o,{sequenceLength:n,isTraining:s}){let i=be(o.config),a=new Uint32Array(t.length*i),c=new Bt(o),u=0;for(let l=0;l<t.length;l++){l%n===e[l]&&(c=new Bt(o),s&&(u=CS(t,e,l,n)));let f=r&&t[l]===8?Qh(r,l*rs):void 0,d=r||s?f??null:void 0;c.read(t[l],a,l*i,{isTraining:s,context:u,rttHistory:d})}return a}function CS(t,e,r,o){let n=r-r%o+o,s=0;for(let i=r;i<n&&e[i]===e[r];i++)s=oe(s+t[i]);return s}var Ms=class{numSlots;numUses;perToken;isFixed;#e;constructor(e,r,o,n=!1){this.numSlots=e,this.numUses=r,this.perToken=o,this.isFixed=n,this.#e=new Map,this.clear()}clear(){if(this.#e.clear(),!!this.isFixed)for(let e=0;e<this.numSlots;e++)this.#e.set(e,e)}get rows(){let e=new Uint32Array(1+this.numSlots);e[0]=this.#e.size;for(let[r,o]of this.#e)e[1+o]=r;return e}get size(){return this.#e.size}claim(e){if(!this.isFixed)for(let r of e)r!==T&&!this.#e.has(r)&&this.#e.set(r,this.#e.size)}places(e){this.claim(e);let r=e.map(o=>o===T?T:this.#e.get(o)??T);return Os(r,this.numSlots,{perRow:this.perToken,numUses:this.numUses})}};function ug(t,e,r){return{tokens:or(t.tokens,e,r),targets:or(t.targets,e,r),lossMask:or(t.lossMask,e,r),segmentStart:or(t.segmentStart,e,r),...t.histories?{histories:or(t.histories,e,r)}:{}}}function or(t,e,{rank:r,size:o}){let n=t.length/e,s=t.slice(0,t.length/o);for(let i=r,a=0;i<e;i+=o,a+=n)s.set(t.subarray(i*n,(i+1)*n),a);return s}function lg({tokens:t,lossMask:e,segmentStart:r},o){let n=e.slice();for(let s=t.indexOf(8);s>=0;s=t.indexOf(8,s+1)){let i=s+1;n[s]&&(n[s]=2),n[i]&&i%o!==r[i]&&(n[i]=3)}return n}var DS=64*8*4;function sr(t){return se(Math.ceil(t/DS))}function fg(t,e){let{x:r,y:o,length:n}=e,s="copy";V(s,{length:n},4),A(s,n,{x:r,y:o}),t.add({kernel:s,bindings:{x:r,y:o},params:{length:n},grid:sr(n)})}var Ko=8;function dg(t){let{learningRate:e,beta1:r,beta2:o,epsilon:n,weightDecay:s,step:i}=t;return Float32Array.of(e,r,o,n,s,1-r**i,1-o**i,0)}function pg(t,e){let{parameter:r,gradient:o,expAvg:n,expAvgSq:s,hyper:i,clip:a,length:c}=e,u="adamw";V(u,{length:c},4),A(u,c,{parameter:r,gradient:o,expAvg:n,expAvgSq:s}),A(u,Ko,{hyper:i}),A(u,1,{clip:a}),t.add({kernel:u,bindings:{gradient:o,hyper:i,clip:a,parameter:r,exp_avg:n,exp_avg_sq:s},params:{length:c},grid:sr(c)})}function hg(t,e){let{indexes:r,table:o,x:n,rows:s,rowsPerToken:i,tableRows:a,width:c}=e,u="add_rows";V(u,{width:c},4),A(u,s*i,{indexes:r}),A(u,a*c,{table:o}),A(u,s*c,{x:n}),t.add({kernel:u,overrides:{ROWS_PER_TOKEN:i},bindings:{indexes:r,table:o,x:n},params:{rows:s,width:c,table_rows:a},grid:se(s)})}function mg(t,e){let{slotRows:r,gradient:o,parameter:n,expAvg:s,expAvgSq:i,numUpdates:a,hyper:c,clip:u,slots:l,width:f}=e,d="adamw_rows";V(d,{width:f},4),A(d,1+l,{slotRows:r}),A(d,l*f,{gradient:o}),A(d,a.shape[0]*f,{parameter:n,expAvg:s,expAvgSq:i}),A(d,Ko,{hyper:c}),A(d,1,{clip:u}),t.add({kernel:d,bindings:{slot_rows:r,gradient:o,hyper:c,clip:u,parameter:n,exp_avg:s,exp_avg_sq:i,num_updates:a},params:{width:f,slots:l},grid:se(l)})}function gg(t,e){let{table:r,anchors:o,limits:n,rows:s,width:i}=e,a="limit_rows";V(a,{width:i},4),A(a,s*i,{table:r,anchors:o}),A(a,s,{limits:n}),t.add({kernel:a,bindings:{anchors:o,limits:n,table:r},params:{rows:s,width:i},grid:se(s)})}var wg=2**48;function _g(t,e=1/0){for(let r=0;r<t.length;r++)if(!(Math.abs(t[r])<e))return r;return-1}function xg(t,e=1/0){for(let[r,o]of t){let n=_g(o,e);if(n<0)continue;let s=e===1/0?"a finite number":`a magnitude below ${e.toExponential(1)}`;return`element ${n} of tensor ${r} is ${o[n]}, expected ${s}`}}function yg(t,e){let r=_g(t),o=e.find(s=>!(s>0));if(r<0&&o===void 0)return;let n=r<0?`a hidden state of scale ${o}`:`a log-probability of ${t[r]}`;throw new y(`Cannot use the model: found ${n}, as when weights are too large for float32, expected finite numbers; use an earlier checkpoint or another run`)}var bg=[32,64,128],Lc={subgroup8:1024,tiled:2048};function vg(t,e){let{q:r,k:o,v:n,segmentStart:s,out:i,logSumExp:a}=e,c=Go(t.registry.gpu.info);kg(`attention_forward_${c}`,e,{q:r,k:o,v:n,out:i},{logSumExp:a},s),t.add({kernel:`attention_forward_${c}`,bindings:{q:r,k:o,v:n,segment_start:s,out:i,log_sum_exp:a},...Nc(e,c)})}function Sg(t,e){let{q:r,k:o,v:n,out:s,dOut:i,logSumExp:a,segmentStart:c,dq:u,dk:l,dv:f,delta:d}=e,p=Go(t.registry.gpu.info);kg(`attention_backward_query_${p}`,e,{q:r,k:o,v:n,out:s,dOut:i,dq:u,dk:l,dv:f},{logSumExp:a,delta:d},c);let h={q:r,k:o,v:n,d_out:i,log_sum_exp:a,segment_start:c,delta:d};t.add({kernel:`attention_backward_query_${p}`,bindings:{...h,out:s,dq:u},...Nc(e,p)}),t.add({kernel:`attention_backward_key_${p}`,bindings:{...h,dk:l,dv:f},...Nc(e,p)})}function Go(t){return t.subgroupSize===8?"subgroup8":"tiled"}function Cc(t,e){if(!bg.includes(e))throw new q(t,`headDim is ${e}, expected one of ${bg.join(", ")}`)}function Nc({batchSize:t,sequenceLength:e,numHeads:r,headDim:o},n){let s={sequence_length:e,num_heads:r};return{overrides:{HEAD_DIM:o},params:n==="subgroup8"?{...s,slot_parts:32}:{...s,slice_parts:8,tile_rows:512/o},grid:[Math.ceil(e*o/Lc[n]),r,t]}}function kg(t,{batchSize:e,sequenceLength:r,numHeads:o,headDim:n},s,i,a){Cc(t,n);let c=e*r;A(t,c,{segmentStart:a}),A(t,c*o,i),A(t,c*o*n,s)}var BS={relu2:0,gelu:1,silu:2},US={kernel:"gemm_subgroup8",overrides:{},tile:32},Bc={kernel:"gemm_tiled",overrides:{TILE:64},tile:64},ZS={kernel:"gemm_tiled",overrides:{TILE:128},tile:128},qS=256,Dc=16,Eg=0;function Ag(t,e){return t.subgroupSize===8?US:!t.isSoftware&&e.m*e.n>=qS*128*128?ZS:Bc}var FS={enoughWorkgroups:256,minSplitK:512,maxSplits:16};function jS(t,e){let{kernel:r}=Ag(t,e);return t.isSoftware||r!=="gemm_tiled"||e.kind!=="TN"?1:HS(e)}function HS({m:t,n:e,k:r},{enoughWorkgroups:o,minSplitK:n,maxSplits:s}=FS){let i=Math.ceil(t/Bc.tile)*Math.ceil(e/Bc.tile);return Math.max(1,Math.min(Math.floor(o/i),Math.floor(r/n),s))}function vt(t,e){let{kind:r,m:o,n,k:s,batch:i=1,terms:a=1,a:c,b:u,c:l,epilogue:f="store",symmetric:d=!1}=e,{info:p}=t.registry.gpu,{kernel:h,tile:g,overrides:m}=e.variant??Ag(p,e);if(V(h,r==="TN"?{m:o,n}:{n,k:s},4),d&&o!==n)throw new q(h,`a product of ${o} x ${n} cannot be symmetric`);let w={a:o*s,b:s*n,c:o*n,...e.strides};a>1&&V(h,{k:s},Dc),A(h,(i*a-1)*w.a+o*s,{a:c}),A(h,(i*a-1)*w.b+s*n,{b:u}),A(h,(i-1)*w.c+o*n,{c:l});let{code:_,read:S,written:E,activation:k,firstFactors:M}=KS(f);for(let Z of[S,E]){if(!Z)continue;let Se=M===void 0?(i-1)*w.c+o*n:4*(M+i);if(A(h,Se,{[Z.label]:Z}),Z.buffer===l.buffer)throw new q(h,`${Z.label} is in the buffer of c; to add to c use "accumulate"`)}let C=typeof f=="string"&&a===1,N=e.splits??(C&&!e.variant?jS(p,{...e,m:i*o}):1),j=Math.ceil(a*s/N/Dc)*Dc;if(N>1&&!(C&&h==="gemm_tiled"&&j*(N-1)<s))throw new q(h,`cannot divide k into ${N} splits here`);let ae=N>1?t.scratch(i*N*o*n):l,he=e.label??`gemm ${r}`;t.add({kernel:h,label:he,overrides:{...m,TRANSPOSE_A:+(r==="TN"),TRANSPOSE_B:+(r==="NT"),ACTIVATION:k},bindings:{a:c,b:u,d:S??{...c,dtype:l.dtype},c:ae,e:E??{...t.registry.unusedOutput,dtype:l.dtype}},params:{m:o,n,k:s,epilogue:N>1?Eg:_,stride_a:w.a/4,stride_b:w.b/4,stride_c:(N>1?o*n:w.c)/4,first_factors:M??0,terms:a,symmetric:Number(d),...h==="gemm_tiled"?{splits:N,split_k:j}:{}},grid:[Math.ceil(n/g),Math.ceil(o/g),i*N],flops:i*a*(d?o+1:2*o)*n*s}),N!==1&&t.add({kernel:"sum_splits",label:`${he}, sum of splits`,bindings:{partials:ae,c:l},params:{length:o*n,splits:N,stride_c:w.c/4,accumulate:+(f==="accumulate")},grid:[...sr(o*n),i]})}function KS(t){if(t==="store")return{code:Eg,activation:0};if(t==="accumulate")return{code:1,activation:0};if("add"in t)return{code:2,read:t.add,activation:0};if("gram"in t)return{code:6,read:t.gram,activation:0};if("factors"in t)return{code:7,read:t.factors,firstFactors:t.first,activation:0};let e=BS[t.activation];return"slopeAt"in t?{code:5,read:t.slopeAt,activation:e}:t.before?{code:4,written:t.before,activation:e}:{code:3,activation:e}}var GS=64,VS=1e4,Tg=new WeakMap;function Vo(t,e){let{x:r,y:o,scale:n,rotation:s=Wo(t,e)}=e,i="qk_norm_rope_forward";zg(i,e,{x:r,y:o},n),A(i,e.sequenceLength*e.headDim,{rotation:s});let{overrides:a,bindings:c,params:u,grid:l}=Og(t,i,e);t.add({kernel:i,overrides:a,bindings:{x:r,rotation:s,y:o,scale:n,...c},params:u,grid:l})}function $s(t,e){let{x:r,scale:o,dy:n,dx:s}=e,i="qk_norm_rope_backward";zg(i,e,{x:r,dy:n,dx:s},o);let a=Wo(t,e),{overrides:c,bindings:u,params:l,grid:f}=Og(t,i,e);t.add({kernel:i,overrides:c,bindings:{x:r,scale:o,rotation:a,dy:n,dx:s,...u},params:{...l,num_rows:e.shift?.rows??0},grid:f})}function zg(t,{rows:e,numHeads:r,headDim:o,sequenceLength:n},s,i){V(t,{headDim:o},8),V(t,{sequenceLength:n},1),A(t,e*r,{scale:i}),A(t,e*r*o,s)}function Og(t,e,r){let{rows:o,numHeads:n,headDim:s,sequenceLength:i,norm:a,shift:c}=r;return c&&(V(e,{headDim:s},16),A(e,c.rows,{previous:c.previous})),{overrides:{NORM:Number(a),SHIFT:+(c!==void 0)},bindings:{previous:c?.previous??Wo(t,r)},params:{num_heads_total:o*n,num_heads:n,head_dim:s,sequence_length:i,first_shifted:(o-(c?.rows??0))*n},grid:se(Math.ceil(o*n/GS))}}function Wo(t,{headDim:e,sequenceLength:r}){let{registry:o}=t,n=Tg.get(o)??new Map;Tg.set(o,n);let s=`${r} x ${e}`,i=n.get(s);if(!i){let a=WS(r,e);i=o.gpu.tensorFrom(`rotations ${s}`,[r,e/8,2,4],a),n.set(s,i)}return i}function WS(t,e){let r=new Float32Array(t*e);for(let o=0;o<t;o++)for(let n=0;n<e/2;n++){let s=o*VS**(-n/(e/2)),i=o*e+Math.floor(n/4)*8+n%4;r[i]=Math.cos(s),r[i+4]=Math.sin(s)}return r}var YS=4;function Ps(t,e){let{x:r,y:o,scale:n,rows:s,width:i}=e,a="rms_norm_forward";V(a,{width:i},4),A(a,s*i,{x:r,y:o}),A(a,s,{scale:n}),t.add({kernel:a,bindings:{x:r,y:o,scale:n},params:{rows:s,width:i},grid:se(s)})}function Mg(t,e){let{x:r,scale:o,dy:n,dx:s,rows:i,width:a,accumulate:c}=e,u="rms_norm_backward";V(u,{width:a},4),A(u,i*a,{x:r,dy:n,dx:s}),A(u,i,{scale:o}),t.add({kernel:u,bindings:{x:r,scale:o,dy:n,dx:s},params:{rows:i,width:a,accumulate:Number(c)},grid:se(Math.ceil(i/YS))})}function $g(t,e){let{x:r,earlier:o,previous:n,y:s,rows:i,numHeads:a,headDim:c}=e,u="shift_keys";V(u,{headDim:c},16),A(u,i,{previous:n}),A(u,i*a*c,{x:r,y:s});let l=a*c/4;t.add({kernel:u,bindings:{x:r,earlier:o,previous:n,y:s},params:{num_vec4:i*l,row_vec4:l,quarter_vec4:c/16},grid:sr(i*l*4)})}function Is(t,e){return Uint32Array.from(t,(r,o)=>o%e>r?o-1:o)}function Nr(t,{extent:e,tensors:r},{name:o,label:n,...s}){let{x:i,y:a,epilogue:c="store"}=s,u=L(r.operands,o),[l,f]=u.shape,d=e.batchSize*e.sequenceLength;vt(t,{kind:"NT",m:d,n:l,k:f,a:i,b:u,c:a,epilogue:c,label:n})}function Pg(t,{parameters:e,operands:r}){let o=[...e].map(([n,s])=>({x:s,y:L(r,n)}));for(let n of Rr(o.filter(({x:s,y:i})=>s!==i),({x:s})=>s)){let[s,i]=[ye(n.map(({x:a})=>a)),ye(n.map(({y:a})=>a))];fg(t,{x:s,y:i,length:Me(s)})}}function Lr(t,e){let{config:r,extent:o,tensors:n,wanted:s}=e,{layers:i,head:a,inputs:c,operands:u}=n,l=o.batchSize*o.sequenceLength,f=r.width,d=L(u,"wte.weight");er(t,{tokens:c.tokens,table:d,x:i[0].x,rows:l,width:f}),c.embeddingRows&&hg(t,{indexes:c.embeddingRows,table:L(u,"address_embed.weight"),x:i[0].x,rows:l,rowsPerToken:be(r),tableRows:ze(r),width:f});for(let h=0;h<r.numLayers;h++){let g=h===r.numLayers-1,m=g?s:void 0;Rg(t,e,{layer:h,withQueries:!m});let w=m?JS(t,e,m):e;Lg(t,w,h),Cg(t,w,h),XS(t,w,{layer:h,out:g?a.xLast:i[h+1].x})}let p=s?.rows??l;Ps(t,{x:a.xLast,y:a.xLastNorm,scale:a.xLastScale,rows:p,width:f})}function JS(t,e,r){let{config:o,tensors:n,rotation:s}=e,{rows:i,index:a}=r,c=n.layers[o.numLayers-1];if(!s)throw new Error("Internal error: wanted rows need a pass with a rotation");let u=(m,w,_)=>er(t,{tokens:a,table:m,x:w,rows:i,width:_});u(c.x,r.x,o.width),u(c.xNorm,r.xNorm,o.width),u(s,r.rotation,o.headDim);let l=n.layers.with(-1,{...c,x:r.x,xNorm:r.xNorm}),f={batchSize:1,sequenceLength:i,training:!1},d={config:o,extent:f,tensors:{...n,layers:l},addAttention:r.addAttention},{q:p,qRotated:h,qScale:g}=c;return Ng(t,d,{layer:o.numLayers-1,parts:["q"]}),Vo(t,{...Rs(o,f),rotation:r.rotation,x:p,y:h,scale:g}),d}function Uc(t,e){let{numHeads:r,headDim:o}=t;return{batchSize:e.batchSize,sequenceLength:e.sequenceLength,numHeads:r,headDim:o}}function Rs(t,e){let{numHeads:r,headDim:o,qkNorm:n}=t;return{rows:e.batchSize*e.sequenceLength,numHeads:r,headDim:o,sequenceLength:e.sequenceLength,norm:n}}function Ig(t,e,r){Rg(t,e,{layer:r,withQueries:!0}),Lg(t,e,r),Cg(t,e,r)}function Rg(t,e,{layer:r,withQueries:o}){let{config:n,extent:s,tensors:i}=e,a=i.layers[r],c=s.batchSize*s.sequenceLength;Ps(t,{x:a.x,y:a.xNorm,scale:a.xScale,rows:c,width:n.width}),Ng(t,e,{layer:r,parts:o?["q","k","v"]:["k","v"]});let{previous:u}=i.inputs,{q:l,k:f,qRotated:d,kRotated:p,qScale:h,kScale:g,kUnshifted:m}=a,w={...Rs(n,s),...e.rotation?{rotation:e.rotation}:{}},_=u&&!m?{previous:u,rows:c}:void 0,[S,E,k]=[[l,f],[d,p],[h,g]].map(zs);if(o&&S&&E&&k){Vo(t,{...w,x:S,y:E,scale:k,rows:2*c,shift:_});return}if(o&&Vo(t,{...w,x:l,y:d,scale:h}),Vo(t,{...w,x:f,y:m??p,scale:g,shift:_}),!m||!u)return;let M=e.earlierKeys?.(r)??m,{numHeads:C,headDim:N}=n;$g(t,{x:m,earlier:M,previous:u,y:p,rows:c,numHeads:C,headDim:N})}function Zc(t,e){return`blocks.${t}.attn.${e}_proj.weight`}function Ng(t,e,{layer:r,parts:o}){let{extent:n,tensors:s}=e,{xNorm:i,...a}=s.layers[r],c=o.map(p=>a[p]),u=o.map(p=>L(s.operands,Zc(r,p))),[l,f]=u[0].shape,d={kind:"NT",m:n.batchSize*n.sequenceLength,n:l,k:f,a:i,label:"qkv_proj"};if(o.length>1&&c.every(({buffer:p})=>p===c[0].buffer)){let[p,h]=[u,c].map(([m,w])=>ct(w,m)),g={a:0,b:p,c:h};vt(t,{...d,b:ye(u),c:ye(c),batch:o.length,strides:g})}else u.forEach((p,h)=>vt(t,{...d,b:p,c:c[h]}))}function Lg(t,e,r){let{config:o,extent:n,tensors:s}=e,i=s.layers[r];e.addAttention?e.addAttention(t,r):vg(t,{q:i.qRotated,k:i.kRotated,v:i.v,segmentStart:s.inputs.segmentStart,out:i.attention,logSumExp:i.logSumExp,...Uc(o,n)}),Nr(t,e,{name:`blocks.${r}.attn.o_proj.weight`,x:i.attention,y:i.xMiddle,epilogue:{add:i.x},label:"o_proj"})}function Cg(t,e,r){let{config:{width:o,activation:n},extent:s,tensors:i}=e,{xMiddle:a,xMiddleNorm:c,xMiddleScale:u,hidden:l,activated:f}=i.layers[r],d=s.batchSize*s.sequenceLength;Ps(t,{x:a,y:c,scale:u,rows:d,width:o}),Nr(t,e,{name:`blocks.${r}.mlp.up_proj.weight`,x:c,y:f,epilogue:{activation:n,...l?{before:l}:{}},label:"up_proj"})}function XS(t,e,{layer:r,out:o}){let{xMiddle:n,activated:s}=e.tensors.layers[r],i=`blocks.${r}.mlp.down_proj.weight`;Nr(t,e,{name:i,x:s,y:o,epilogue:{add:n},label:"down_proj"})}var QS={initial:2**15,min:1,max:2**24,growthSteps:500};function Dg({initial:t}=QS){return Float32Array.of(t,0)}var ek=4096,tk=256,qc="reduce_partials";function Ug(t){return Math.min(tk,Math.ceil(t/ek))}function Zg(t,e){let{x:r,length:o,out:n,accumulate:s=!1}=e;A(qc,o,{x:r});let i=Ug(o);if(i===1)return Bg(t,{x:r,length:o,out:n,accumulate:s});let a=t.registry.gpu.tensor("partial sums",[i]);qg(t,{label:"sum",isSum:!0,x:r,length:o,out:a,numPartials:i}),Bg(t,{x:a,length:i,out:n,accumulate:s})}function Bg(t,e){A(qc,1,{out:e.out}),qg(t,{label:"sum",isSum:!0,...e})}function qg(t,e){let{label:r,isSum:o=!1,x:n,length:s,out:i,first:a=0,numPartials:c=1,accumulate:u=!1}=e;t.add({kernel:qc,label:r,overrides:{SQUARE:+!o},bindings:{x:n,partials:i},params:{length:s,first:a,num_partials:c,accumulate:Number(u)},grid:se(c)})}function Fg(t,e){let{logits:r,targets:o,lossMask:n,losses:s,weight:i,dLogits:a,lossScale:c,ordinal:u,teacher:l}=e,{markedWeight:f=1,rows:d,vocabSize:p,stride:h,softcap:g}=e,m="cross_entropy";jg(m,e),A(m,d,{targets:o,lossMask:n,losses:s}),A(m,d*h,{logits:r,...a?{dLogits:a}:{},...l?{teacherLogits:l.logits}:{}}),A(m,1,{weight:i,...c?{lossScale:c}:{}}),t.add({kernel:m,overrides:{SOFTCAP:+(g!==null),GRADIENT:+(a!==void 0),SCALED:+(c!==void 0),TAUGHT:+(l!==void 0)},bindings:{logits:r,targets:o,loss_mask:n,weight:i,losses:s,d_logits:a??t.registry.unusedOutput,loss_scale:c??i,teacher_logits:l?.logits??r},params:{rows:d,vocab_size:p,stride:h,softcap:g??0,first_byte:u?.firstByte??0,ordinal_2:u?.weights[0]??0,ordinal_3:u?.weights[1]??0,marked_weight:f,teacher_weight:l?.weight??0,teacher_softcap:l?.softcap??0},grid:se(d)})}function Fc(t,e){let{logits:r,rowIndex:o,out:n,numRows:s,vocabSize:i,stride:a,softcap:c}=e,u="log_probabilities";jg(u,e),A(u,a,{logits:r}),A(u,s,{rowIndex:o}),A(u,s*i,{out:n}),t.add({kernel:u,overrides:{SOFTCAP:+(c!==null)},bindings:{logits:r,row_index:o,out:n},params:{num_rows:s,vocab_size:i,stride:a,softcap:c??0},grid:se(s)})}function jg(t,{vocabSize:e,stride:r,softcap:o}){if(V(t,{stride:r},4),V(t,{vocabSize:e},1),e>r)throw new q(t,`vocabSize is ${e}, expected at most the stride ${r}`);if(o!==null&&!(o>0))throw new q(t,`softcap is ${o}, expected a positive number or null`)}var rk=(t,e,r)=>({label:t,shape:e,dtype:r,offsetBytes:0,buffer:{}});function Cr(t,e){return(r,o,n)=>t(e+r,o,n)}function Yo(t){return jc(t).reduce((e,{sizeBytes:r})=>e+r,0)}function Dr(t){return jc(t).reduce((e,{sizeBytes:r})=>Math.max(e,r),0)}function jc(t){let e=[];return t((r,o,n)=>(e.push({label:r,sizeBytes:qo(o,n)}),rk(r,o,n))),e}function ir({limits:t}){return Math.min(t.maxBufferSize,t.maxStorageBufferBindingSize)}async function Ns(t,e,r){let o=ir(t.device),n=jc(e).find(({sizeBytes:i})=>i>o);if(n)throw Hg(`${n.label} takes ${St(n.sizeBytes)}`,`${St(o)} a buffer`,r);t.device.pushErrorScope("out-of-memory");let s=e((i,a,c)=>t.tensor(i,a,c));if(await t.device.popErrorScope()){let i=`${r.what} takes ${St(Yo(e))}`;throw Hg(i,"what the GPU has free",r)}return s}function St(t){return`${Math.ceil(t/2**20).toLocaleString("en")} MiB`}function Hg(t,e,{what:r,remedy:o}){return new y(`Cannot allocate ${r}: ${t}, expected at most ${e}; ${o}`)}function Kg(t,e,r){let{batchSize:o,sequenceLength:n,training:s,dtype:i,freeRows:a}=e,c=[o,n],u=ze(t)>0,l=nr(t,e),f=Fo(jo(t,e),l),d=Fo(o*n,J(t));return{tokens:r("tokens",c),targets:r("targets",c),lossMask:r("lossMask",c),segmentStart:r("segmentStart",c),previous:t.keyShift?r("previous",c):void 0,tokenRows:s&&a===void 0?r("token rows",[d]):void 0,embeddingRows:u?r("rows of tokens",[o,n,be(t)]):void 0,rowPlaces:u&&s?r("tokens of slots",[f]):void 0,slotRows:u&&s?r("rows of slots",[1+l]):void 0,weight:r("weight",[1]),lossScale:s&&i==="f16"?r("loss scale",[2]):void 0}}function Gg(t,e,r){let{extent:o,batch:n,weight:s}=r,i=J(r.config),{batchSize:a,sequenceLength:c}=o,u={...n,lossMask:lg(n,c)};for(let l of["tokens","targets","lossMask","segmentStart"]){let f=new Uint32Array(u[l]);b(f.length===a*c,`${l} has ${f.length} elements`),(l==="tokens"||l==="targets")&&b(f.every(d=>d<i),`${l} has a token that is not below ${i}`),t.write(e[l],f)}if(e.previous&&t.write(e.previous,Is(n.segmentStart,c)),e.tokenRows&&t.write(e.tokenRows,Os(n.tokens,i)),e.embeddingRows&&r.rows){let{ofTokens:l,places:f,ofSlots:d}=r.rows;t.write(e.embeddingRows,l),e.rowPlaces&&f&&t.write(e.rowPlaces,f),e.slotRows&&d&&t.write(e.slotRows,d)}t.write(e.weight,Float32Array.of(s))}function ar(t){return Math.ceil(J(t)/4)*4}function Hc(t,e,r){let o=[],n=(u,l,f)=>{let d=r(u,l,f);return o.push(d),d},s=e.batchSize*e.sequenceLength,i=sk(t,e,n),a=cr(t,n),{dtype:c}=e;return{parameters:a,operands:Yg(t,{parameters:a,dtype:c},n),gradients:e.training?Wg(t,e,Cr(n,"d ")):new Map,inputs:Kg(t,e,n),layers:i,head:{xLast:e.training?n("xLast",[s,t.width]):i[0].x,xLastNorm:n("xLastNorm",[s,t.width],c),xLastScale:n("xLastScale",[s]),logits:n("logits",[s,ar(t)]),losses:n("losses",[s])},backward:e.training?ik(t,{rows:s,dtype:c},n):void 0,lossSum:n("lossSum",[1]),all:o}}function Kc(t){return new Map([...bs(t)].map(([e,[r,o]])=>[e,[e==="lm_head.weight"?ar(t):r,o]]))}var ok=64*2**20;function cr(t,e){return Ls(Kc(t),e)}function Ls(t,e,r){let o=nk(t).flatMap(s=>{let i=new Map(s.map(a=>[a,L(t,a)]));return[...Ac(i,a=>e(`${s[0]} and ${s.length-1} more`,a,r))]}),n=new Map(o);return new Map([...t].map(([s,i])=>[s,n.get(s)??e(s,i,r)]))}function nk(t){let e=c=>[...t.keys()].filter(u=>u.endsWith(`.${c}_proj.weight`)),[r,o]=[e("k"),e("v")],n=c=>t.has(c)?[[c]]:[],s=[...n("wte.weight"),...e("q").map((c,u)=>[c,r[u],o[u]]),...["o","up","down"].flatMap(e).map(c=>[c]),...n("lm_head.weight")],i=[],a=0;for(let c of s){let u=c.length*bt({shape:L(t,c[0])});u>a&&(i.push([]),a=ok),i[i.length-1].push(...c),a-=u}return i}function Wg(t,e,r){let o=new Map([["address_embed.weight",[nr(t,e),t.width]]]);if(e.freeRows!==void 0)return Ls(o,r);let n=Kc(t);return Ls(n.has("address_embed.weight")?new Map([...n,...o]):n,r)}function Yg(t,{parameters:e,dtype:r},o){if(r!=="f16")return e;let n=Kc(t);for(let s of["wte.weight","address_embed.weight"])n.delete(s);return new Map([...e,...Ls(n,(s,...i)=>o(`${s} in f16`,...i),r)])}function sk(t,e,r){let o=e.batchSize*e.sequenceLength,{training:n,dtype:s}=e,i=Vg(t,{rows:o,training:n,dtype:s},Cr(r,"layer 0 "));return Array.from({length:t.numLayers},(a,c)=>{if(c===0||!n)return i;let u=Cr(r,`layer ${c} `);return e.checkpointActivations?{...i,x:u("x",[o,t.width])}:Vg(t,{rows:o,training:n,dtype:s},u)})}function Vg(t,e,r){let{numHeads:o,headDim:n}=t,{rows:s,dtype:i}=e;return{...Xg(t,e,r),...Jo(["q","k","v"],[s,o*n],r,i),...Jo(["qScale","kScale"],[s,o],r),...Jo(["qRotated","kRotated"],[s,o*n],r,i),kUnshifted:void 0}}function Jo(t,e,r,o){let n=new Map(t.map(i=>[i,e])),s=Ac(n,i=>r(t.join(", "),i,o));return Object.fromEntries(s)}function Jg(t,e,r){let{numHeads:o,headDim:n}=t,{rows:s,dtype:i}=e,a=c=>r(c,[s,o*n],i);return{...Xg(t,e,r),q:a("q"),k:a("k"),qScale:r("qScale",[s,o]),kScale:r("kScale",[s,o]),qRotated:a("qRotated")}}function Xg(t,{rows:e,training:r,dtype:o},n){let{width:s,mlpWidth:i,numHeads:a,activation:c}=t;return{x:n("x",[e,s]),xNorm:n("xNorm",[e,s],o),xScale:n("xScale",[e]),attention:n("attention",[e,a*t.headDim],o),logSumExp:n("logSumExp",[e,a]),xMiddle:n("xMiddle",[e,s]),xMiddleNorm:n("xMiddleNorm",[e,s],o),xMiddleScale:n("xMiddleScale",[e]),hidden:r&&c!=="relu2"?n("hidden",[e,i],o):void 0,activated:n("activated",[e,i],o)}}function ik(t,{rows:e,dtype:r},o){let{width:n,mlpWidth:s,numHeads:i}=t,a=i*t.headDim;return{dLogits:o("dLogits",[e,ar(t)],r),dx:o("dx",[e,n]),dNorm:o("dNorm",[e,n],r),dHidden:o("dHidden",[e,s],r),dAttention:o("dAttention",[e,a],r),...Jo(["dqRotated","dkRotated"],[e,a],o,r),...Jo(["dq","dk","dv"],[e,a],o,r),delta:o("delta",[e,i])}}function Gc(t,{config:e,extent:r,tensors:o,teacher:n}){let{head:s,inputs:i,backward:a}=o,{rttDistanceWeights:c,rttByteWeight:u}=r,l=r.batchSize*r.sequenceLength;Nr(t,{extent:r,tensors:o},{...Qg,x:s.xLastNorm,y:s.logits}),Fg(t,{logits:s.logits,targets:i.targets,lossMask:i.lossMask,losses:s.losses,weight:i.weight,lossScale:i.lossScale,markedWeight:u,rows:l,...Vc(e),...a?{dLogits:a.dLogits,teacher:n}:{},...c?{ordinal:{firstByte:11,weights:c}}:{}})}function Vc(t){return{vocabSize:J(t),stride:ar(t),softcap:t.softcap}}var Qg={name:"lm_head.weight",label:"lm_head"};function ew(t,e){let{config:r,hiddenStates:o,operands:n,tensors:s,rows:i}=e,{positions:a,picked:c,logits:u,rowIndex:l,logProbabilities:f}=s;er(t,{tokens:a,table:o,x:c,rows:i,width:r.width}),Nr(t,{extent:{batchSize:1,sequenceLength:i,training:!1},tensors:{operands:n}},{...Qg,x:c,y:u}),Fc(t,{logits:u,rowIndex:l,out:f,numRows:i,...Vc(r)})}async function tw(t,{config:e,logits:r,positions:o}){let{gpu:n}=t,s=o.length,i=n.tensorFrom("chosen rows",[s],o),a=n.tensor("log-probabilities",[s,J(e)]),c=new Ze(t,"log-probabilities");Fc(c,{logits:r,rowIndex:i,out:a,numRows:s,...Vc(e)}),c.run();let[u]=await n.read(a);for(let{buffer:l}of[i,a])l.destroy();return u}function ak(t,e){let r=0,o=t;for(;o-r>1;){let n=Math.floor((r+o)/2);e(n)?r=n:o=n}return r}function ck(t){return t>0?`set train.microBatchSize to ${t} or less`:"choose a smaller model"}async function rw(t,e,r){let o=ir(t.device),n=s=>Dr(i=>Hc(e,{...r,batchSize:s},i))<=o;return await Ns(t,s=>Hc(e,r,s),{what:"the model",remedy:n(r.batchSize)?"lower train.microBatchSize or set train.checkpointActivations":ck(ak(r.batchSize,n))})}function Cs(t,e,{parameters:r,weights:o}){let n=vs(e);for(let s of o.keys())if(!n.has(s))throw Wc(`a weight ${s}`,"none of that name");for(let[s,[i,a]]of n){let c=o.get(s);if(!c)throw Wc(`no weight ${s}`,`one of shape [${i}, ${a}]`);if(c.length!==i*a)throw Wc(`${c.length} values of ${s}`,`a shape of [${i}, ${a}]`);let u=r.get(s);u&&t.write(u,c)}}async function ow(t,e,r){let o=await t.read(...r.values()),n=J(e);return new Map([...r].map(([s,i],a)=>{let u=s.startsWith("lm_head.weight")?n*e.width:Me(i);return[s,o[a].slice(0,u)]}))}function Wc(t,e){return new y(`Cannot load the weights: found ${t}, expected ${e}; use the configuration they were trained with`)}function uk(t,e){let{config:r,extent:o,tensors:n}=e,{backward:s,head:i,gradients:a,inputs:c}=n;b(s,"a model without training has no backward pass");let u=o.batchSize*o.sequenceLength,l=r.width;Ds(t,e,{name:"lm_head.weight",dy:s.dLogits,x:i.xLastNorm,dx:s.dNorm}),t.mark("lm_head."),Yc(t,e,{x:i.xLast,scale:i.xLastScale,backward:s,accumulate:!1});for(let d=r.numLayers-1;d>=0;d--)o.checkpointActivations&&d<r.numLayers-1&&Ig(t,e,d),lk(t,e,{layer:d,backward:s}),fk(t,e,{layer:d,backward:s}),t.mark(`blocks.${d}.`);let f=[{name:"wte.weight",tokenRows:c.tokenRows,vocabSize:J(r),numUses:u},{name:"address_embed.weight",tokenRows:c.rowPlaces,vocabSize:nr(r,o),numUses:jo(r,o)}];for(let{name:d,tokenRows:p,...h}of f){if(!p)continue;let g=L(a,d);ng(t,{tokenRows:p,dx:s.dx,dTable:g,rows:u,width:l,...h})}}function Ds(t,{extent:e,tensors:r},o){let{name:n,dy:s,x:i,dx:a,epilogue:c="store"}=o,u=L(r.operands,n),[l,f]=u.shape,d=e.batchSize*e.sequenceLength,p=n.replace(/^blocks\.\d+\.\w+\.|\.weight$/g,"");vt(t,{kind:"NN",m:d,n:f,k:l,a:s,b:u,c:a,epilogue:c,label:`${p} dx`});let h=r.gradients.get(n);h&&vt(t,{kind:"TN",m:l,n:f,k:d,a:s,b:i,c:h,epilogue:"accumulate",label:`${p} dW`})}function lk(t,e,{layer:r,backward:o}){let{xMiddle:n,xMiddleNorm:s,xMiddleScale:i,hidden:a,activated:c}=e.tensors.layers[r];Ds(t,e,{name:`blocks.${r}.mlp.down_proj.weight`,dy:o.dx,x:c,dx:o.dHidden,epilogue:{activation:e.config.activation,slopeAt:a??c}}),Ds(t,e,{name:`blocks.${r}.mlp.up_proj.weight`,dy:o.dHidden,x:s,dx:o.dNorm}),Yc(t,e,{x:n,scale:i,backward:o,accumulate:!0})}function fk(t,e,{layer:r,backward:o}){let{config:n,extent:s,tensors:i}=e,a=i.layers[r];Ds(t,e,{name:`blocks.${r}.attn.o_proj.weight`,dy:o.dx,x:a.attention,dx:o.dAttention}),Sg(t,{q:a.qRotated,k:a.kRotated,v:a.v,out:a.attention,dOut:o.dAttention,logSumExp:a.logSumExp,segmentStart:i.inputs.segmentStart,dq:o.dqRotated,dk:o.dkRotated,dv:o.dv,delta:o.delta,...Uc(n,s)}),dk(t,e,{layer:r,backward:o}),Yc(t,e,{x:a.x,scale:a.xScale,backward:o,accumulate:!0})}function dk(t,e,{layer:r,backward:o}){let{config:n,extent:s,tensors:i}=e,a=i.layers[r],{dq:c,dk:u,dv:l,dqRotated:f,dkRotated:d,dNorm:p}=o,h=s.batchSize*s.sequenceLength,g=Rs(n,s),{previous:m}=i.inputs,w=m&&{previous:m,rows:h},_=[[a.q,a.k],[a.qScale,a.kScale],[f,d],[c,u]],[S,E,k,M]=_.map(zs);if(S&&E&&k&&M)$s(t,{...g,x:S,scale:E,dy:k,dx:M,rows:2*h,shift:w});else{let[ke,Pe]=[0,1].map(Ri=>_.map(Ni=>Ni[Ri]));$s(t,{...g,x:ke[0],scale:ke[1],dy:ke[2],dx:ke[3]}),$s(t,{...g,x:Pe[0],scale:Pe[1],dy:Pe[2],dx:Pe[3],shift:w})}let[C,N,j]=[[c,u,l],...[i.operands,i.gradients].map(ke=>["q","k","v"].flatMap(Pe=>ke.get(Zc(r,Pe))??[]))],[ae,he]=N[0].shape,Z=ye(C),Se={a:ct(u,c),b:ct(N[1],N[0])};vt(t,{kind:"NN",m:h,n:he,k:ae,terms:3,strides:Se,a:Z,b:ye(N),c:p,label:"qkv_proj dx"}),j.length!==0&&vt(t,{kind:"TN",m:ae,n:he,k:h,batch:3,strides:{a:Se.a,b:0,c:ct(j[1],j[0])},a:Z,b:a.xNorm,c:ye(j),epilogue:"accumulate",label:"qkv_proj dW"})}function Yc(t,{config:{width:e},extent:r},{backward:{dNorm:o,dx:n},...s}){let i=r.batchSize*r.sequenceLength;Mg(t,{...s,dy:o,dx:n,rows:i,width:e})}var Bs=class t{registry;config;extent;#e;#t;#r;#o;#n;#s;#a;constructor(e,r,o,n,s){this.registry=e,this.config=r,this.extent=o,this.#e=e.gpu,this.#t={config:r,extent:o,tensors:n,teacher:s},n.inputs.embeddingRows&&(this.#s=new ut(r));let i=o.freeRows!==void 0;this.#a=new Ms(nr(r,o),jo(r,o),be(r),i);let{lossScale:a}=n.inputs;a&&this.#e.write(a,Dg()),this.#r=new Ze(e,"operand copies"),Pg(this.#r,n),this.#o=new Ze(e,"evaluation"),Lr(this.#o,this.#t),Gc(this.#o,{...this.#t,tensors:{...n,backward:void 0}}),this.#n=o.training?this.#u():void 0}static async create(e,r,o,n){let{sequenceLength:s=r.sequenceLength}=o;b(s<=r.sequenceLength,`sequences of ${s} tokens are too long`);let i={...o,sequenceLength:s},a=await rw(e.gpu,r,i),c=new t(e,r,i,a,n);return await e.ready(),c}get parameters(){return this.#t.tensors.parameters}get gradients(){return this.#t.tensors.gradients}get lossSum(){return this.#t.tensors.lossSum}get lossScale(){return this.#t.tensors.inputs.lossScale}get slotRows(){return this.#t.tensors.inputs.slotRows}get operands(){return this.#t.tensors.operands}load(e){Cs(this.#e,this.config,{parameters:this.parameters,weights:e}),this.#s?.load(e),this.#r.length>0&&this.#r.run()}async weights(){let e=await ow(this.#e,this.config,this.parameters);return this.#s?.save(e),e}zeroGradients(){this.#a.clear();let e=this.#e.device.createCommandEncoder({label:"zero gradients"}),r=new Set([...this.gradients.values()].map(({buffer:o})=>o));for(let o of r)e.clearBuffer(o);e.clearBuffer(this.lossSum.buffer),this.#e.device.queue.submit([e.finish()])}accumulate(e,r,o){b(this.#n,"a model without training cannot accumulate gradients"),this.#l(e,r,{isTraining:!0,ofTokens:o}),this.#n.run()}accumulateShare(e,r,{share:o,afterPart:n}){b(this.#n,"a model without training cannot accumulate gradients");let{sequenceLength:s}=this.extent,i=e.tokens.length/s,a=this.#s&&Ho(e,this.#s,{sequenceLength:s,isTraining:!0});a&&this.#a.claim(a),this.#l(ug(e,i,o),r,{isTraining:!0,ofTokens:a&&or(a,i,o)}),this.#n.runInParts(n)}usedRows(e){return e==="address_embed.weight"?this.#a.size:L(this.gradients,e).shape[0]}async profile(e,r){return b(this.#n,"a model without training cannot accumulate gradients"),this.#l(e,r,{isTraining:!0}),[...(await this.#t.teacher?.profile()??[]).map(s=>({...s,label:`teacher's ${s.label}`})),...await this.#n.profile()]}#i(e,r={}){this.#l(e,0,r),this.#o.run()}async evaluateLosses(e){return this.#i(e),(await this.#e.read(this.#t.tensors.head.losses))[0]}async logProbabilities(e,r){if(b(r.every(s=>s<this.#c),"a position is outside the batch"),r.length===0)return new Float32Array;this.#i(e);let{config:o,tensors:n}=this.#t;return await tw(this.registry,{config:o,logits:n.head.logits,positions:r})}asTeacher(e){return{logits:this.#t.tensors.head.logits,softcap:this.config.softcap,weight:e,forward:r=>this.#i(r,{isTraining:!0}),profile:()=>this.#o.profile()}}destroy(){for(let e of this.#t.tensors.all)e.buffer.destroy()}get#c(){return this.extent.batchSize*this.extent.sequenceLength}#u(){let e=new Ze(this.registry,"forward and backward");Lr(e,this.#t),Gc(e,this.#t);let{head:r,lossSum:o}=this.#t.tensors;return Zg(e,{x:r.losses,length:this.#c,out:o,accumulate:!0}),uk(e,this.#t),e}#l(e,r,o={}){let{config:n,extent:s}=this,i=this.#f(e,o);Gg(this.#e,this.#t.tensors.inputs,{config:n,extent:s,batch:e,weight:r,rows:i}),o.isTraining&&this.#t.teacher?.forward(e)}#f(e,r){if(!this.#s)return;let{sequenceLength:o}=this.extent,{isTraining:n=!1}=r,s=r.ofTokens??Ho(e,this.#s,{sequenceLength:o,isTraining:n});if(!n||!this.#n)return{ofTokens:s};let i=this.#a.places(s);return{ofTokens:s,places:i,ofSlots:this.#a.rows}}};function nw(t,e,r){return Rr(t,({parameter:o})=>o).flatMap(o=>{let[{name:n,parameter:s}]=o,i=r(`${n}.${e}`,ye(o.map(({parameter:a})=>a)).shape);return o.map(({name:a,parameter:c})=>{let u=`${a}.${e}`;return[u,Tc(i,ct(c,s),c.shape,u)]})})}function sw(t,e){let r=["exp_avg","exp_avg_sq"].flatMap(o=>nw(t,o,e));return{hyper:e("AdamW numbers",[Ko]),state:new Map(r)}}function pk(t,e){let{hyper:r,state:o}=sw(t,e);for(let{name:n,parameter:s}of t)o.set(`${n}.num_updates`,e(`${n}.num_updates`,[s.shape[0]]));return{hyper:r,state:o}}var Jc=class{gpu;config;members;state;hyper;constructor(e,r,o,n=sw){this.gpu=e,this.config=r,this.members=o,{hyper:this.hyper,state:this.state}=n(o,e.tensor.bind(e))}add(e,r){let{hyper:o}=this;for(let n of Rr(this.members,({parameter:s})=>s)){let s=n.map(({name:c,...u})=>({...u,...this.moments(c)})),i=c=>ye(s.map(u=>u[c])),a=i("parameter");pg(e,{parameter:a,gradient:i("gradient"),expAvg:i("expAvg"),expAvgSq:i("expAvgSq"),hyper:o,clip:r,length:Me(a)})}}prepare(e,r){let{learningRate:o,beta1:n,beta2:s,epsilon:i,weightDecay:a}=this.config,c=dg({learningRate:o*r.learningRate,beta1:n,beta2:s,epsilon:i,weightDecay:a*r.weightDecay,step:e+1});this.gpu.write(this.hyper,c)}moments(e){return{expAvg:L(this.state,`${e}.exp_avg`),expAvgSq:L(this.state,`${e}.exp_avg_sq`)}}},Us=class extends Jc{slotRows;constructor(e,r,o,n){super(e,r,o,pk),this.slotRows=n}add(e,r){for(let{name:o,parameter:n,gradient:s}of this.members){b(this.slotRows,`${o} has no slots`);let[i,a]=s.shape;mg(e,{slotRows:this.slotRows,gradient:s,parameter:n,...this.moments(o),numUpdates:L(this.state,`${o}.num_updates`),hyper:this.hyper,clip:r,slots:i,width:a})}}prepare(e,r){super.prepare(0,r)}};function iw(t,e,r){let o=Math.round(e*r.warmupShare),n=o>0?(t+1)/o:1,s=r.schedule==="cosine",i=s?e-o:Math.round(e*r.decayShare),a=i>0?Math.max(0,Math.min(1,(e-t)/i)):1,c=s?(1-Math.cos(Math.PI*a))/2:a;return Math.min(1,n,r.finalRatio+(1-r.finalRatio)*c)}var hk=128,mk=32;function gk(t,e){let r=Math.min(e,hk);return{sequenceLength:r,batchSize:Math.min(mk,aw(t,r).length)}}function wk(t,e,{batchSize:r,sequenceLength:o}){let n=aw(t,o),s=[];for(let i=0;i<n.length;i+=r){let a=_k(n.slice(i,i+r),{batchSize:r,sequenceLength:o});s.push({batch:a,rows:Ho(a,e,{sequenceLength:o,isTraining:!1})})}return s}function aw(t,e){let r=[],o=0;for(let n of t){let s=it(n,null);if(s>e)throw new y(`Cannot adapt: a measurement takes ${s} tokens, the model's sequence of ${e} or fewer were wanted; use a model with longer sequences`);s>o&&(r.push([]),o=e),r[r.length-1].push(n),o-=s}return r}function _k(t,{batchSize:e,sequenceLength:r}){let o=e*r,n={tokens:new Uint16Array(o),targets:new Uint16Array(o),lossMask:new Uint8Array(o),segmentStart:new Uint16Array(o)};for(let s=0;s<e;s++){let i=s*r,a=i;for(let c of t[s]??[]){let u=new at(n.tokens,a).write(c,yt);n.segmentStart.fill(a-i,a,a+u),n.targets.set(n.tokens.subarray(a+1,a+u),a),n.lossMask.fill(1,a+u-3,a+u-1),a+=u}n.segmentStart.fill(a-i,a,i+r)}return n}var xk={kind:"adamw",beta1:.9,beta2:.95,epsilon:1e-8,weightDecay:0},yk={schedule:"wsd",warmupShare:0,decayShare:1,finalRatio:.1},cw=3,CP=7*32*cw,bk=1e30;async function uw(t,e,r,o){let n=[];try{return await vk(t,e,r,{...o,own:s=>n.push(s)})}finally{for(let s of n)s.destroy()}}async function vk(t,e,r,{own:o,...n}){let{gpu:s}=t,{width:i,sequenceLength:a}=e.config,c=r.free.length,u=gk(r.measurements,a),l=new Xc(r,e),f=Sk(r,u,l),d=await Bs.create(t,l.config(),{...u,training:!0,freeRows:c});o(d),d.load(l.weights());let p=L(d.parameters,Oe),h=L(d.gradients,Oe),g=new Us(s,{...xk,learningRate:n.learningRate},[{name:Oe,parameter:p,gradient:h}],d.slotRows),m=s.tensorFrom("anchors",[c,i],l.starts),w=s.tensorFrom("largest drifts",[c],Float32Array.from(r.free,({isKnown:Z})=>Z?n.maxDrift:bk)),_=s.tensorFrom("no clipping",[4],Float32Array.of(1,0,0,0));for(let{buffer:Z}of[m,w,_,...g.state.values()])o(Z);let S=new Ze(t,"update of rows");g.add(S,_),gg(S,{table:p,anchors:m,limits:w,rows:c,width:i}),await t.ready();let E=Math.ceil(f[0].length/cw),k=(Z,Se)=>Z.filter((ke,Pe)=>Pe%E===Se%E),M=Z=>{let Se=Z.reduce((ke,{batch:Pe})=>ke+Pe.lossMask.reduce((Ri,Ni)=>Ri+Ni,0)/2,0);d.zeroGradients();for(let{batch:ke,rows:Pe}of Z)d.accumulate(ke,1/(2*Se),Pe);return Se},C=async()=>{let Z=M(k(f[0],0));return(await s.read(d.lossSum))[0][0]/Z},N=await C();for(let Z=0;Z<n.steps;Z++){n.signal?.throwIfAborted();let Se=E===1?Z:Z+Math.floor(Z/E);M(k(f[Se%f.length],Z));let ke=iw(Z,n.steps,yk);g.prepare(Z,{learningRate:ke,weightDecay:0}),S.run(),await s.finish(),n.onProgress?.(Z+1)}let j=await C(),ae=(await s.read(p))[0].slice(0,c*i),he=xg(new Map([[Oe,ae]]),wg);if(he)throw new y(`Cannot adapt: after the fit ${he}; lower --learning-rate`);return{values:ae,lossBefore:N,lossAfter:j}}var Xc=class{starts;#e=new Map;#t;constructor({free:e},r){let{width:o}=r.config;this.#t=r,this.starts=new Float32Array(e.length*o),e.forEach(({row:n,start:s},i)=>{this.#e.set(n,i),this.starts.set(s,i*o)})}translate(e){return Uint32Array.from(e,r=>{if(r===T)return T;let o=this.#e.get(r)??this.#e.size;return this.#e.set(r,o),o})}config(){let e={rows:this.#e.size,seed:0,dropShare:0};return{...this.#t.config,prefixVectors:e,pairVectors:null,coordinates:null}}weights(){let{config:{width:e},weights:r}=this.#t,o=r.get(Oe)??new Float32Array,n=new Float32Array(this.#e.size*e);for(let[c,u]of this.#e)n.set(o.subarray(c*e,(c+1)*e),u*e);n.set(this.starts);let s=new Float32Array(2*this.#e.size),i=new Map(r).set(Oe,n).set(Be,s),a=vs(this.config());return new Map([...i].filter(([c])=>a.has(c)))}};function Sk(t,e,r){let{measurements:o,addressEmbeddings:n}=t,s=n.config.prefixVectors?.rows??0,a=(o.some(({timeS:c})=>c!==null)?[0,1]:[0]).map(c=>{let u=o.map((l,f)=>f%2===c?l:{...l,timeS:null});return wk(u,n,e).map(({batch:l,rows:f})=>({batch:l,rows:r.translate(f),withoutPairs:r.translate(f.map(d=>d>=s?T:d))}))});return!n.config.pairVectors||s===0?a:[...a,...a.map(c=>c.map(({batch:u,withoutPairs:l})=>({batch:u,rows:l})))]}function Zs(t,e){return kk(Float64Array.from(t).sort(),e)}function kk(t,e){return t.length===0?NaN:t[Math.max(0,Math.ceil(e*t.length)-1)]}var Ek=50;async function lw(t,e,{addresses:r,adaptedNodes:o,signal:n,onLocated:s}){let{coordinates:i}=t,a=new Map;if(!i)return new Uint32Array;let c=[...Ak(e,r)].map(d=>({...d,node:t.nodeOf(d.address)})).filter(({node:d})=>o.has(d)||!i.hasCoordinates(d)),u=new Set(c.map(({node:d})=>d)),l=[],f=performance.now();for(let[d,{address:p,rttsMs:h}]of c.entries()){performance.now()-f>Ek&&(await new Promise(w=>setTimeout(w,0)),f=performance.now()),n?.throwIfAborted();let g=[...h.values()].map(({other:w,ms:_})=>({node:t.nodeOf(w),rttMs:Zs(_,.5)})),m=i.locate(g,u);m&&l.push({address:p,place:m}),s?.(d+1,c.length)}for(let{address:d,place:p}of l){let h=t.claimNode(d);h!==T&&a.set(h,p)}return i.put(a),Uint32Array.from(a.keys()).sort()}function Ak(t,e){let r=new Map;for(let{source:o,destination:n,rttCode:s}of t)for(let[i,a]of[[o,n],[n,o]]){let c=re(i),u=re(a);if(s===null||c===u||!e.has(c))continue;let{rttsMs:l}=r.getOrInsertComputed(c,()=>({address:i,rttsMs:new Map}));l.getOrInsertComputed(u,()=>({other:a,ms:[]})).ms.push(Kt(s))}return r.values()}function fw(t){let e=t.flatMap(({source:r,destination:o})=>[r,o]);return new Map(e.map(r=>[re(r),r]))}function qs({source:t,destination:e},r){return r.has(re(t))||r.has(re(e))}function dw(t,e,r=new Set){let o=Qc(t);return[...fw(e)].filter(([,n])=>{let s=o.rowOfAddress(n);return s===T||r.has(s)}).map(([n])=>n)}async function pw(t,e,r){let{addresses:o,adapted:n,...s}=r,i=Qc(t),a=Qc(t),c=new Map,u=[],l=[],f=fw(e),d=Ok(t),p=[...f.values()].map(m=>({address:m,row:i.rowOfAddress(m)})).filter(({row:m})=>m!==T),h=(m,w,_)=>{m===T||c.has(m)||c.set(m,{row:m,isKnown:!w&&!n.rows.has(m),start:_??d(m)})};for(let[m,w]of f){if(!o.has(m))continue;let _=i.rowOfAddress(w)===T,S=a.rowOfAddress(w,{claims:!0});h(S,_,_?Tk(w,p,d):void 0),(S===T?u:l).push(m)}let g=e.filter(m=>qs(m,o));for(let{source:m,destination:w}of g){let _=i.rowOfPair(m,w)===T;h(a.rowOfPair(m,w,{claims:!0}),_)}return{addressEmbeddings:a,free:[...c.values()],measurements:g,addresses:l,withoutRow:u,located:await lw(a,g,{...s,addresses:o,adaptedNodes:n.nodes})}}function Tk(t,e,r){let o=e.filter(c=>c.address.length===t.length),n=o.map(c=>zk(c.address,t)),s=n.reduce((c,u)=>Math.max(c,u),0),i=o.filter((c,u)=>n[u]===s);if(i.length===0)return;let a=new Float64Array(r(i[0].row).length);for(let{row:c}of i)r(c).forEach((u,l)=>a[l]+=u);return Float32Array.from(a,c=>c/i.length)}function zk(t,e){let r=t.findIndex((o,n)=>o!==e[n]);return r<0?t.length:r}function Qc({config:t,weights:e}){let r=new ut(t);return r.load(e),r}function Ok({config:{width:t},weights:e}){let r=L(e,Oe);return o=>r.slice(o*t,(o+1)*t)}var Mk={steps:20,learningRate:.1,maxDrift:1};async function mw(t,e,r,o={}){$k(e);let n=r.filter(({rttCode:m})=>m!==null),{adapted:s={rows:new Set,nodes:new Set},addresses:i=dw(e,n,s.rows),onLocated:a,...c}=o,u=await pw(e,n,{addresses:new Set(i),adapted:s,signal:c.signal,...a&&{onLocated:a}}),l=r.length-n.length,f={addresses:u.addresses,withoutRow:u.withoutRow,numFailed:l};if(u.free.length===0){let m=hw(e,u,new Float32Array);return{...f,update:m,numMeasurements:0,lossBefore:null,lossAfter:null}}let{values:d,lossBefore:p,lossAfter:h}=await uw(t,e,u,{...Mk,...c}),g=hw(e,u,d);return{...f,update:g,numMeasurements:u.measurements.length,lossBefore:p,lossAfter:h}}function hw({config:t,weights:e},r,o){let{width:n}=t;for(let{source:a,destination:c,rttCode:u,timeS:l}of r.measurements)u!==null&&r.addressEmbeddings.remember(r.addressEmbeddings.rowOfPair(a,c),{rttCode:u,timeS:l});let s=L(e,Oe).slice();r.free.forEach(({row:a},c)=>s.set(o.subarray(n*c,n*(c+1)),n*a));let i=new Map(e).set(Oe,s);return r.addressEmbeddings.save(i),Qm(t,i,Uint32Array.from(r.free,({row:a})=>a).sort(),r.located)}function $k({config:t,weights:e}){if(!(ze(t)>0&&e.has(Be)))throw new y(`Cannot adapt the model: it has no address embeddings, expected one with them; train one with --set 'model.prefixVectors={"rows":65536}'`)}var Fs=class{config;weights;rows;nodes;adaptation;#e;#t;#r;constructor(e,r,{adapted:o,trainingData:n}={}){this.config=e,this.weights=r,this.#r=new WeakSet,this.rows=new Set(o?.rows),this.nodes=new Set(o?.nodes),this.#e=n,this.adaptation=n?.adaptation}get trainingData(){return this.#e&&{...this.#e,adaptation:this.adaptation}}async fit(e,r,o){let n=await mw(e,this,r,{...o,adapted:this});this.weights=Xm(this.config,this.weights,n.update);for(let s of n.update.rows)this.rows.add(s);for(let s of n.update.coordinates.nodes)this.nodes.add(s);return this.#o(r,n),n}#o(e,{addresses:r,withoutRow:o}){let[n,s]=[new Set(r),new Set(o)],i=this.#t??=this.adaptation?Zo.of(this.adaptation):new Zo;for(let c of e){let{source:u,destination:l,rttCode:f,timeS:d}=c;f===null||this.#r.has(c)||!qs(c,n)||qs(c,s)||(this.#r.add(c),i.add(i.id(u),i.id(l),d))}let a=i.summary({origin:"",isSynthetic:null});a.measurements>0&&(this.adaptation={summary:a,known:i.table()})}};async function Pk(t,e){let r=t.onSubmittedWorkDone(),o=performance.now();return await r,((Symbol.for("Deno.privateCustomInspect")in t?o:performance.now())-e)/1e3}var[gw,Ik]=[2**16,2**24],Rk=2**26,Hs=class{make;drop;#e;#t;constructor(e,r){this.make=e,this.drop=r,this.#e=new Map,this.#t=0}take(e){let r=e<gw||e>Ik?e:2**Math.ceil(Math.log2(e)),o=this.#e.get(r)?.pop();return o!==void 0&&(this.#t-=r),o??this.make(r)}give(e,r){if(r<gw||this.#t+r>Rk)return this.drop(e);this.#t+=r,this.#e.set(r,[...this.#e.get(r)??[],e])}},Nk=["maxStorageBufferBindingSize","maxBufferSize","maxComputeWorkgroupStorageSize","maxComputeInvocationsPerWorkgroup","maxComputeWorkgroupSizeX","maxStorageBuffersPerShaderStage"],ww=/llvmpipe|lavapipe|swiftshader|warp|basic render/i,js=new Set;globalThis.addEventListener("unload",()=>Xo.blockUntilIdle());var Xo=class t{device;info;#e;#t;#r;#o;#n;#s;constructor(e,r){this.device=e,this.info=r,this.#r=0,this.#o=new WeakRef(this),this.#n=new Hs(o=>this.device.createBuffer({label:"readback",size:o,usage:GPUBufferUsage.MAP_READ|GPUBufferUsage.COPY_DST}),o=>o.destroy()),this.#s=new Hs(o=>new ArrayBuffer(o),()=>{}),js.add(this.#o),e.lost.then(o=>this.#e=o.message||"device lost"),e.addEventListener("uncapturederror",o=>{o.preventDefault(),this.#t??=o.error.message})}static async open(e={}){let r=await navigator.gpu?.requestAdapter({powerPreference:"high-performance"});if(!r)throw new y("Cannot use WebGPU: no adapter was found, expected a GPU or software driver; run sh setup.sh to install one");if(Lk(r))throw new y(`Cannot use WebGPU: no adapter was found besides OpenGL in software (${r.info.description}), expected a Vulkan driver; run sh setup.sh to install one`);let o={};for(let d of Nk)o[d]=r.limits[d];let n=e.subgroups??!0?await eu(r,o,["subgroups"])??await eu(r,o,[]):await eu(r,o,[]);if(!n)throw new y("Cannot use WebGPU: the adapter gives no device; close other GPU programs and retry");let s=n.features.has("subgroups"),i=r.info,{description:a,vendor:c,subgroupMinSize:u,subgroupMaxSize:l}=i,f=a||i.device||`${c} ${i.architecture}`.trim()||"unnamed adapter";return new t(n,{name:f,vendor:c,subgroupSize:s&&u===l?u:void 0,enablesSubgroups:s&&r.features.has("subgroups"),isSoftware:ww.test(`${f} ${a} ${c}`)})}tensor(e,r,o="f32"){let n=qo(r,o),s=this.device.createBuffer({label:e,size:n,usage:GPUBufferUsage.STORAGE|GPUBufferUsage.COPY_SRC|GPUBufferUsage.COPY_DST});return this.#r+=n,{label:e,shape:[...r],dtype:o,offsetBytes:0,buffer:s}}get allocatedBytes(){return this.#r}tensorFrom(e,r,o){let n=this.tensor(e,r);return this.write(n,o),n}write(e,r){b(r.byteLength<=bt(e),`${r.byteLength} bytes do not fit ${e.label}`),this.device.queue.writeBuffer(e.buffer,e.offsetBytes,r)}async read(...e){return await this.readAfter(()=>{},...e)}async readAfter(e,...r){return(await this.#i(r,e)).map((o,n)=>r[n].dtype==="f16"?Float32Array.from(new Float16Array(o.buffer,0,o.length/2)):new Float32Array(o.buffer,0,o.length/4))}array(e){return new Float32Array(this.#s.take(4*e),0,e)}recycle(...e){for(let{buffer:r}of e){let o=r.transfer();this.#s.give(o,o.byteLength)}}async readUint32(e){let[{buffer:r,length:o}]=await this.#i([e]);return new Uint32Array(r,0,o/4)}async finish(){await this.device.queue.onSubmittedWorkDone(),this.check()}get fault(){return this.#e?`the GPU device was lost (${this.#e})`:this.#t&&`WebGPU: ${this.#t}`}check(){if(this.#e)throw new y(`Cannot continue: ${this.fault}; run again`);if(this.#t)throw new Error(`Internal error: ${this.fault}`)}async timeS(e){let r=performance.now();return e(),await Pk(this.device.queue,r)}close(){this.#a(),js.delete(this.#o),this.device.destroy()}static blockUntilIdle(){for(let e of js){let r=e.deref();r?r.#a():js.delete(e)}}#a(){this.device.queue.onSubmittedWorkDone().catch(()=>{})}[Symbol.dispose](){this.close()}async#i(e,r=()=>{}){let o=[],n=0;for(let i of e)o.push(n),n+=qo(i.shape,i.dtype);let s=this.#n.take(n);try{let i=this.device.createCommandEncoder({label:"readback"});r(i),e.forEach((u,l)=>i.copyBufferToBuffer(u.buffer,u.offsetBytes,s,o[l],Math.ceil(bt(u)/4)*4)),this.device.queue.submit([i.finish()]),await s.mapAsync(GPUMapMode.READ,0,n).catch(async u=>{throw await this.finish(),u});let a=s.getMappedRange(0,n),c=e.map((u,l)=>{let f=bt(u),d=new Uint8Array(this.#s.take(f),0,f);return d.set(new Uint8Array(a,o[l],f)),d});return this.check(),s.unmap(),this.#n.give(s,s.size),c}catch(i){throw s.destroy(),i}}};function Lk(t){return t.limits.maxBindingsPerBindGroup===4294967295&&ww.test(`${t.info.description} ${t.info.vendor}`)}async function eu(t,e,r){try{return await t.requestDevice({requiredLimits:e,requiredFeatures:r})}catch{return}}var tu="//! ";function Qe(t,e){return`${tu}${t}
${e}`}function ru(t){return t.replace(/\/\/(?!!).*$/gm,"")}function ou(t,e,r,o){let n=e.split(`
`).slice(0,r-1),s=n.findLastIndex(a=>a.startsWith(tu)),i=n[s]?.slice(tu.length);return new q(t,o,r-1-s,i)}function _w(t,e){let r=ru(e),o=[...r.matchAll(/@group\((\d+)\)\s*@binding\((\d+)\)\s*var<([^>]*)>\s*(\w+)/g)].map(([,i,a,c,u])=>{if(i!=="0")throw new q(t,`binding ${u} is in group ${i}, expected 0`);let[l,f="read"]=c.split(",").map(d=>d.trim());return{name:u,index:Number(a),access:l==="uniform"?"uniform":f}}),s=(/struct\s+Params\s*\{([^}]*)\}/.exec(r)?.[1]??"").split(",").map(i=>i.trim()).filter(Boolean).map(i=>{let a=/^(\w+)\s*:\s*(u32|i32|f32)$/.exec(i);if(!a)throw new q(t,`field "${i}" of Params is not NAME: u32 | i32 | f32`);return{name:a[1],type:a[2]}});return{bindings:o,params:s,overrides:[...r.matchAll(/^\s*override\s+(\w+)/gm)].map(i=>i[1]),usesLanes:/\b(lane_sum|lane_max|LANES)\b/.test(r),usesSubgroups:/\bsubgroup[A-Z]\w*\s*\(/.test(r)}}var xw=`// Prelude of the row kernels for adapters with subgroups: a workgroup is exactly one subgroup of LANES lanes.
//   lane_sum(x, lane) = sum of x over the workgroup's lanes, the same value in every lane; lane_max likewise.
// The registry puts LANES before this text. Calls must be in uniform control flow.
fn lane_sum(x: f32, lane: u32) -> f32 {
  return subgroupAdd(x);
}

fn lane_max(x: f32, lane: u32) -> f32 {
  return subgroupMax(x);
}
`;var yw=`// Prelude of the row kernels for adapters without subgroups: a tree in workgroup memory, a fixed order.
//   lane_sum(x, lane) = sum of x over the workgroup's lanes, the same value in every lane; lane_max likewise.
// The registry puts LANES (a power of two) before this text. Calls must be in uniform control flow.
var<workgroup> lane_scratch: array<f32, LANES>;

fn lane_sum(x: f32, lane: u32) -> f32 {
  workgroupBarrier();
  lane_scratch[lane] = x;
  for (var half = LANES / 2u; half > 0u; half = half / 2u) {
    workgroupBarrier();
    if (lane < half) {
      lane_scratch[lane] = lane_scratch[lane] + lane_scratch[lane + half];
    }
  }
  workgroupBarrier();
  return lane_scratch[0];
}

fn lane_max(x: f32, lane: u32) -> f32 {
  workgroupBarrier();
  lane_scratch[lane] = x;
  for (var half = LANES / 2u; half > 0u; half = half / 2u) {
    workgroupBarrier();
    if (lane < half) {
      lane_scratch[lane] = max(lane_scratch[lane], lane_scratch[lane + half]);
    }
  }
  workgroupBarrier();
  return lane_scratch[0];
}
`;var bw=`// y[r, :] = x[r, :] / sqrt(mean(x[r, :]^2) + eps), eps = 2^-23 (the epsilon of float32), no learned scale.
// Source: Zhang and Sennrich, Root Mean Square Layer Normalization, NeurIPS 2019.
// Bindings: x (rows, width) read; y (rows, width) write; scale (rows) write: 1 / sqrt(\u2026), for the backward pass.
// Grid: one workgroup of LANES lanes per row. Numerics: f32; sum of squares per lane, then over lanes.
// Limits: width % 4 == 0; rows <= 65535 * 65535 through a two-dimensional grid.
struct Params { rows: u32, width: u32 }

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> scale: array<f32>;
@group(0) @binding(3) var<uniform> params: Params;

const EPSILON = 1.1920929e-7f;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let row = group.y * groups.x + group.x;
  if (row >= params.rows) { return; }
  let width4 = params.width / 4u;
  let base = row * width4;
  var sum = 0f;
  for (var i = lane; i < width4; i += LANES) {
    let v = x[base + i];
    sum += dot(v, v);
  }
  let s = inverseSqrt(lane_sum(sum, lane) / f32(params.width) + EPSILON);
  for (var i = lane; i < width4; i += LANES) {
    y[base + i] = x[base + i] * s;
  }
  if (lane == 0u) { scale[row] = s; }
}
`;var vw=`// The epilogue of a matrix product p: STORE c = p; ACCUMULATE c += p; ADD c = d + p; ACTIVATE c = f(p);
// ACTIVATE_KEEP also e = p; SLOPE c = p f'(d), or for ACTIVATION 0 the slope where f is d; with f relu(x)^2 (ACTIVATION 0), GELU by its tanh form (1), SiLU
// x / (1 + exp(-x)) (2); POLYNOMIAL c = 3.4445 I - 4.7750 d + 2.0315 p, Muon's polynomial of a Gram matrix d where p is
// its square; UPDATE c = y c - z p, Muon's update, with (_, y, z, _) = d[first_factors + matrix of the batch]. Part of gemm_subgroup8 and gemm_tiled, whose bindings and parameters it uses.
// Sources: So et al., Primer, NeurIPS 2021 (relu^2); Hendrycks and Gimpel, Gaussian Error Linear Units, arXiv
//   1606.08415, section 2; Elfwing et al., Neural Networks 107 (2018) (SiLU); Jordan et al., Muon: An optimizer for
//   hidden layers in neural networks, 2024 (the polynomial).
// Numerics: f32; the argument of exp is at most 0 and that of tanh within [-10, 10], so nothing overflows.
override ACTIVATION: u32 = 0;

const SQRT_2_OVER_PI = 0.7978845608f;
const GELU_CUBIC = 0.044715f;

fn activation(x: vec4f) -> vec4f {
  if (ACTIVATION == 0u) {
    let r = max(x, vec4f(0f));
    return r * r;
  }
  if (ACTIVATION == 1u) {
    let t = clamp(SQRT_2_OVER_PI * (x + GELU_CUBIC * x * x * x), vec4f(-10f), vec4f(10f));
    return 0.5f * x * (1f + tanh(t));
  }
  let power = exp(-abs(x));
  return x * select(power, vec4f(1f), x >= vec4f(0f)) / (1f + power);
}

// At the argument x, or of relu(x)^2 at its value.
fn activation_slope(x: vec4f) -> vec4f {
  if (ACTIVATION == 0u) {
    return 2f * sqrt(max(x, vec4f(0f)));
  }
  if (ACTIVATION == 1u) {
    let t = tanh(clamp(SQRT_2_OVER_PI * (x + GELU_CUBIC * x * x * x), vec4f(-10f), vec4f(10f)));
    let inner = SQRT_2_OVER_PI * (1f + 3f * GELU_CUBIC * x * x);
    return 0.5f * (1f + t) + 0.5f * x * (1f - t * t) * inner;
  }
  let power = exp(-abs(x));
  let sigmoid = select(power, vec4f(1f), x >= vec4f(0f)) / (1f + power);
  return sigmoid * (1f + x * (1f - sigmoid));
}

const ACCUMULATE = 1u;
const ADD = 2u;
const ACTIVATE = 3u;
const ACTIVATE_KEEP = 4u;
const SLOPE = 5u;
const POLYNOMIAL = 6u;
const UPDATE = 7u;

// 4 columns of a row of the matrix that starts at c[first]; nothing past the end of the matrix.
fn store(first: u32, row: u32, column4: u32, value: vec4f) {
  if (row >= params.m || column4 >= params.n / 4u) { return; }
  let at = first + row * (params.n / 4u) + column4;
  var result = value;
  if (params.epilogue == ACCUMULATE) {
    result += c[at];
  } else if (params.epilogue == UPDATE) {
    let factors = d[params.first_factors + first / params.stride_c];
    result = factors.y * c[at] - factors.z * value;
  } else if (params.epilogue == ADD || params.epilogue >= SLOPE) {
    let other = d[at];
    result = select(other + value, value * activation_slope(other), params.epilogue == SLOPE);
    let diagonal = vec4u(4u * column4) + vec4u(0u, 1u, 2u, 3u) == vec4u(row);
    let polynomial = select(vec4f(0f), vec4f(3.4445f), diagonal) - 4.7750f * other + 2.0315f * value;
    result = select(result, polynomial, params.epilogue == POLYNOMIAL);
  } else if (params.epilogue >= ACTIVATE) {
    result = activation(value);
    if (params.epilogue == ACTIVATE_KEEP) { e[at] = value; }
  }
  // One store for all epilogues: each store costs lavapipe's compiler a tenth of a second.
  c[at] = result;
}

// For a symmetric product, whose tiles above the diagonal are skipped: the number of sides on which a tile is stored.
fn num_sides(group: vec3u) -> u32 {
  return select(1u, 2u, params.symmetric == 1u && group.x < group.y);
}

// Rows row .. row + 3, or as side 1 their transpose, on the other side of the diagonal.
fn store4(first: u32, side: u32, row: u32, column4: u32, s: mat4x4f) {
  var at = vec2u(row, column4);
  var x = s;
  if (side == 1u) {
    at = vec2u(4u * column4, row / 4u);
    x = transpose(s);
  }
  store(first, at.x, at.y, x[0]);
  store(first, at.x + 1u, at.y, x[1]);
  store(first, at.x + 2u, at.y, x[2]);
  store(first, at.x + 3u, at.y, x[3]);
}
`;var Sw=`// One step of AdamW: g = clip gradient; m += (1 - beta1) (g - m); v += (1 - beta2) (g^2 - v);
//   p = p (1 - lr decay) - lr (m / correction1) / (sqrt(v / correction2) + epsilon); nothing changes if clip == 0.
// Source: Loshchilov and Hutter, Decoupled Weight Decay Regularization, ICLR 2019, algorithm 2, in torch.optim's form.
// Bindings: gradient (length) read; hyper (8) read: lr, beta1, beta2, epsilon, decay, correction1 = 1 - beta1^t,
//   correction2 = 1 - beta2^t; clip read: factor at 0, see clip_factor.wgsl; parameter, exp_avg (m), exp_avg_sq (v)
//   (length) read and write.
// Grid: workgroups of 64 threads over length / 4 vec4, BATCH of them a thread, 64 apart. Numerics: f32.
// Limits: length % 4 == 0.
struct Params { length: u32 }

@group(0) @binding(0) var<storage, read> gradient: array<vec4f>;
@group(0) @binding(1) var<storage, read> hyper: array<f32>;
@group(0) @binding(2) var<storage, read> clip: array<f32>;
@group(0) @binding(3) var<storage, read_write> parameter: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> exp_avg: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> exp_avg_sq: array<vec4f>;
@group(0) @binding(6) var<uniform> params: Params;

const BATCH = 8u;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let factor = clip[0];
  if (factor == 0f) { return; }
  let lr = hyper[0];
  let rest1 = 1f - hyper[1];
  let rest2 = 1f - hyper[2];
  let epsilon = hyper[3];
  let keep = 1f - lr * hyper[4];
  let step = lr / hyper[5];
  let root_correction2 = inverseSqrt(hyper[6]);
  let start = (group.y * groups.x + group.x) * 64u * BATCH + thread;
  let end = min(start + 64u * BATCH, params.length / 4u);
  for (var i = start; i < end; i += 64u) {
    let g = gradient[i] * factor;
    let m = exp_avg[i] + rest1 * (g - exp_avg[i]);
    let v = exp_avg_sq[i] + rest2 * (g * g - exp_avg_sq[i]);
    exp_avg[i] = m;
    exp_avg_sq[i] = v;
    parameter[i] = parameter[i] * keep - step * m / (sqrt(v) * root_correction2 + epsilon);
  }
}
`;var kw=`// One step of AdamW for some rows of a table, the others do not change. For slot s < slot_rows[0], of row
//   r = slot_rows[1 + s], with t = num_updates[r] + 1: g = clip gradient[s, :]; m += (1 - beta1) (g - m);
//   v += (1 - beta2) (g^2 - v); p = p (1 - lr decay) - lr (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon);
//   num_updates[r] = t. Nothing changes if clip == 0.
// Source: Loshchilov and Hutter, Decoupled Weight Decay Regularization, ICLR 2019, algorithm 2, where a row's t counts
//   its own updates, so that its moments are corrected as if it were updated in every step.
// Bindings: slot_rows (1 + S) read; gradient (S, width) read; hyper (8) read: as in adamw.wgsl, but for the corrections;
//   clip read: factor at 0, see clip_factor.wgsl; parameter, exp_avg (m), exp_avg_sq (v) (R, width) and num_updates (R)
//   read and write.
// Grid: one workgroup of LANES lanes per slot. Numerics: f32; beta^t by pow, so t is exact up to 2^24.
// Limits: width % 4 == 0; no row has two slots.
struct Params { width: u32, slots: u32 }

@group(0) @binding(0) var<storage, read> slot_rows: array<u32>;
@group(0) @binding(1) var<storage, read> gradient: array<vec4f>;
@group(0) @binding(2) var<storage, read> hyper: array<f32>;
@group(0) @binding(3) var<storage, read> clip: array<f32>;
@group(0) @binding(4) var<storage, read_write> parameter: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> exp_avg: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> exp_avg_sq: array<vec4f>;
@group(0) @binding(7) var<storage, read_write> num_updates: array<f32>;
@group(0) @binding(8) var<uniform> params: Params;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let slot = group.y * groups.x + group.x;
  let factor = clip[0];
  if (slot >= min(slot_rows[0], params.slots) || factor == 0f) { return; }
  let row = slot_rows[1u + slot];
  let t = num_updates[row] + 1f;
  storageBarrier();
  if (lane == 0u) { num_updates[row] = t; }
  let lr = hyper[0];
  let rest1 = 1f - hyper[1];
  let rest2 = 1f - hyper[2];
  let epsilon = hyper[3];
  let keep = 1f - lr * hyper[4];
  let step = lr / (1f - pow(hyper[1], t));
  let root_correction2 = inverseSqrt(1f - pow(hyper[2], t));
  let width4 = params.width / 4u;
  for (var column = lane; column < width4; column += LANES) {
    let i = row * width4 + column;
    let g = gradient[slot * width4 + column] * factor;
    let m = exp_avg[i] + rest1 * (g - exp_avg[i]);
    let v = exp_avg_sq[i] + rest2 * (g * g - exp_avg_sq[i]);
    exp_avg[i] = m;
    exp_avg_sq[i] = v;
    parameter[i] = parameter[i] * keep - step * m / (sqrt(v) * root_correction2 + epsilon);
  }
}
`;var Ew=`// x[r, :] += sum over k < ROWS_PER_TOKEN of table[indexes[r ROWS_PER_TOKEN + k], :], of the indexes below table_rows
// Bindings: indexes (rows, ROWS_PER_TOKEN) read; table (table_rows, width) read; x (rows, width) read and write.
// Grid: one workgroup of LANES lanes per row. Numerics: f32, k ascending.
// Limits: width % 4 == 0.
struct Params { rows: u32, width: u32, table_rows: u32 }

override ROWS_PER_TOKEN: u32 = 1u;

@group(0) @binding(0) var<storage, read> indexes: array<u32>;
@group(0) @binding(1) var<storage, read> table: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> x: array<vec4f>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let row = group.y * groups.x + group.x;
  if (row >= params.rows) { return; }
  let width4 = params.width / 4u;
  for (var k = 0u; k < ROWS_PER_TOKEN; k++) {
    let index = indexes[row * ROWS_PER_TOKEN + k];
    if (index >= params.table_rows) { continue; }
    for (var i = lane; i < width4; i += LANES) {
      x[row * width4 + i] += table[index * width4 + i];
    }
  }
}
`;var Aw=`// The optimizer's treatment of this step, from the sum of squares of all gradients:
//   out[0] = min(1, max_norm / norm), or 0 if the norm is not finite: the step is then skipped;
//   out[1] = norm = sqrt(sum_of_squares); out[2] += 1 if skipped; out[3] = consecutive skipped steps up to now.
// If SCALED, the gradients are loss_scale[0] times too large: norm and out[0] are divided by it. A skipped step halves
// it, down to min_scale; growth_steps consecutive steps that are not skipped double it, up to max_scale. While it is
// larger than min_scale, skipped steps are not counted in out[3], since the next step has another scale.
// Source: Pascanu et al., On the difficulty of training recurrent neural networks, ICML 2013, algorithm 1; Micikevicius
//   et al., Mixed Precision Training, ICLR 2018, section 3.2 (loss scaling).
// Bindings: sum_of_squares (1) read; out (4) read and write; loss_scale (2) read and write if SCALED: the scale, a power
//   of 2, and the number of consecutive steps not skipped since it was set.
// Grid: one thread. Numerics: finiteness is read from the exponent bits, since WGSL may assume that there is no NaN.
struct Params { max_norm: f32, min_scale: f32, max_scale: f32, growth_steps: f32 }

override SCALED: bool = false;

@group(0) @binding(0) var<storage, read> sum_of_squares: array<f32>;
@group(0) @binding(1) var<storage, read_write> out: array<f32>;
@group(0) @binding(2) var<storage, read_write> loss_scale: array<f32>;
@group(0) @binding(3) var<uniform> params: Params;

const EXPONENT_BITS = 0x7f800000u;

// Sets the scale of the next step; returns whether this one is skipped and another scale is left to try.
fn update_scale(is_finite: bool) -> bool {
  let scale = loss_scale[0];
  if (!is_finite) {
    let half = max(scale * 0.5f, params.min_scale);
    loss_scale[0] = half;
    loss_scale[1] = 0f;
    return half > params.min_scale;
  }
  let good_steps = loss_scale[1] + 1f;
  let grows = good_steps >= params.growth_steps;
  loss_scale[0] = select(scale, min(scale * 2f, params.max_scale), grows);
  loss_scale[1] = select(good_steps, 0f, grows);
  return false;
}

@compute @workgroup_size(1)
fn main() {
  let square = sum_of_squares[0];
  let is_finite = (bitcast<u32>(square) & EXPONENT_BITS) != EXPONENT_BITS;
  var norm = sqrt(square);
  var unscale = 1f;
  var tries_again = false;
  if (SCALED) {
    unscale = 1f / loss_scale[0];
    norm *= unscale;
    tries_again = update_scale(is_finite);
  }
  out[1] = norm;
  if (is_finite) {
    out[0] = params.max_norm / max(norm, params.max_norm) * unscale;
    out[3] = 0f;
  } else {
    out[0] = 0f;
    out[2] += 1f;
    if (!tries_again) { out[3] += 1f; }
  }
}
`;var Tw=`// y = x, between tensors of different storage formats, such as f16 copies of weights.
// Bindings: x (length) read; y (length) write.
// Grid: workgroups of 64 threads over length / 4 vec4, BATCH of them a thread, 64 apart. Numerics: a copy.
// Limits: length % 4 == 0.
struct Params { length: u32 }

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(2) var<uniform> params: Params;

const BATCH = 8u;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let start = (group.y * groups.x + group.x) * 64u * BATCH + thread;
  let end = min(start + 64u * BATCH, params.length / 4u);
  for (var i = start; i < end; i += 64u) {
    y[i] = x[i];
  }
}
`;var zw=`// d_table[v, :] += sum over the rows r with tokens[r] == v of dx[r, :]
// Bindings: token_rows (V + 1 + rows) read: the rows in the order of their tokens, those of token v at the indexes
//   token_rows[v] .. token_rows[v + 1] - 1; dx (rows, width) read; d_table (V, width) read and write.
// Grid: x = V, y = ceil(width / (16 LANES)): a workgroup of LANES lanes has one token and 4 vec4 columns a lane.
// Numerics: f32, rows ascending; no atomics, so results are bit-identical in every run.
// Limits: width % 4 == 0.
struct Params { width: u32 }

@group(0) @binding(0) var<storage, read> token_rows: array<u32>;
@group(0) @binding(1) var<storage, read> dx: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> d_table: array<vec4f>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let token = group.x;
  let end = token_rows[token + 1u];
  let width4 = params.width / 4u;
  let first = group.y * 4u * LANES + lane;
  let columns = min(vec4u(first, first + LANES, first + 2u * LANES, first + 3u * LANES), vec4u(width4 - 1u));
  var sums = mat4x4f();
  for (var i = token_rows[token]; i < end; i++) {
    let at = vec4u(token_rows[i] * width4) + columns;
    sums += mat4x4f(dx[at.x], dx[at.y], dx[at.z], dx[at.w]);
  }
  for (var i = 0u; i < 4u; i++) {
    let column = first + i * LANES;
    if (column < width4) { d_table[token * width4 + column] += sums[i]; }
  }
}
`;var Ow=`// x[r, :] = table[tokens[r], :]
// Bindings: tokens (rows) read; table (vocabulary, width) read; x (rows, width) write.
// Grid: one workgroup of LANES lanes per row. Numerics: a copy.
// Limits: width % 4 == 0; every token is within the table.
struct Params { rows: u32, width: u32 }

@group(0) @binding(0) var<storage, read> tokens: array<u32>;
@group(0) @binding(1) var<storage, read> table: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> x: array<vec4f>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let row = group.y * groups.x + group.x;
  if (row >= params.rows) { return; }
  let width4 = params.width / 4u;
  let token = tokens[row];
  for (var i = lane; i < width4; i += LANES) {
    x[row * width4 + i] = table[token * width4 + i];
  }
}
`;var Mw=`// C = op(A) op(B) with an epilogue such as a sum or an activation, where op transposes or not.
// For adapters whose subgroups have exactly 8 lanes (lavapipe on AVX2): a load costs 40 times as much as a vector fma,
// and a subgroupBroadcast about as much as one, so each lane loads a 4 x 4 block of A and one of B per 4 steps of k,
// and the blocks of A are distributed by broadcast. Measured on 2 cores of lavapipe (Mesa 25.0): see
// lib/tensor/ops/gemm.ts.
// Bindings: a, op(A) (m, k), stored (k, m) if TRANSPOSE_A, read; b, op(B) (k, n), stored (n, k) if TRANSPOSE_B, read;
//   d (m, n) read, used by ADD, SLOPE, POLYNOMIAL, and of UPDATE (any, 4); c (m, n) write, also read by ACCUMULATE; e (m, n) write, of ACTIVATE_KEEP. Of a
//   batch, matrix z of each starts z times its stride (in vec4) after the first. With several terms, C is the sum of the products of
//   \`terms\` matrices of a and of b.
// Epilogues: see gemm_epilogue.wgsl, which precedes this text.
// Grid: x = ceil(n / 32) column tiles, y = ceil(m / 32) row tiles, z = matrices of the batch; one subgroup of 8 lanes a tile, lane l owns the columns
//   4 l .. 4 l + 3 of all 32 rows; s[i] is the rows 4 i .. 4 i + 3, a matrix whose column j is row 4 i + j.
// Numerics: f32, four products are summed, then added to the accumulator, k ascending. Loads are clamped into the matrix;
//   duplicated values are not stored, or are multiplied by 0 if k is not a multiple of 4. (Without the clamps it is
//   slower.) If symmetric == 1, C = C^T is known: tiles below the diagonal are stored on both sides of it, those above
//   are skipped.
// Limits: n % 4 == 0; k % 4 == 0 unless TRANSPOSE_A; m % 4 == 0 if TRANSPOSE_A; not both transposed; m == n if symmetric.
struct Params { m: u32, n: u32, k: u32, epilogue: u32, stride_a: u32, stride_b: u32, stride_c: u32, symmetric: u32,
  first_factors: u32, terms: u32 }

override TRANSPOSE_A: bool = false;
override TRANSPOSE_B: bool = false;

@group(0) @binding(0) var<storage, read> a: array<vec4f>;
@group(0) @binding(1) var<storage, read> b: array<vec4f>;
@group(0) @binding(2) var<storage, read> d: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> c: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> e: array<vec4f>;
@group(0) @binding(5) var<uniform> params: Params;

// Column j: the 4 steps of k from k4 * 4 of row row0 + j of op(A), which starts at a[first].
fn load_a(first: u32, row0: u32, k4: u32) -> mat4x4f {
  if (TRANSPOSE_A) {
    let m4 = params.m / 4u;
    let column = min(row0 / 4u, m4 - 1u);
    let k = vec4u(k4 * 4u) + vec4u(0u, 1u, 2u, 3u);
    let at = first + min(k, vec4u(params.k - 1u)) * m4 + column;
    let keep = vec4f(k < vec4u(params.k));
    return transpose(mat4x4f(a[at.x] * keep.x, a[at.y] * keep.y, a[at.z] * keep.z, a[at.w] * keep.w));
  }
  let rows = min(vec4u(row0) + vec4u(0u, 1u, 2u, 3u), vec4u(params.m - 1u));
  let at = first + rows * (params.k / 4u) + k4;
  return mat4x4f(a[at.x], a[at.y], a[at.z], a[at.w]);
}

// Column i: row k4 * 4 + i of op(B), which starts at b[first], at the lane's 4 columns.
fn load_b(first: u32, column4: u32, k4: u32) -> mat4x4f {
  if (TRANSPOSE_B) {
    let at = first + (vec4u(column4 * 4u) + vec4u(0u, 1u, 2u, 3u)) * (params.k / 4u) + k4;
    return transpose(mat4x4f(b[at.x], b[at.y], b[at.z], b[at.w]));
  }
  let k = min(vec4u(k4 * 4u) + vec4u(0u, 1u, 2u, 3u), vec4u(params.k - 1u));
  let at = first + k * (params.n / 4u) + column4;
  return mat4x4f(b[at.x], b[at.y], b[at.z], b[at.w]);
}

@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  if (params.symmetric == 1u && group.x > group.y) { return; }
  let row = group.y * 32u;
  let column4 = group.x * 8u + lane;
  let n4 = params.n / 4u;
  let b_column4 = min(column4, n4 - 1u);
  let first_a = group.z * params.stride_a;
  let first_b = group.z * params.stride_b;
  var s = array<mat4x4f, 8>();
  let k_end = (params.k + 3u) / 4u;
  for (var term = 0u; term < params.terms; term++) {
    let term_a = first_a + term * params.stride_a;
    let term_b = first_b + term * params.stride_b;
    for (var k4 = 0u; k4 < k_end; k4++) {
      let x = load_a(term_a, row + lane * 4u, k4);
      let y = load_b(term_b, b_column4, k4);
      s[0] += y * mat4x4f(subgroupBroadcast(x[0], 0u), subgroupBroadcast(x[1], 0u),
                          subgroupBroadcast(x[2], 0u), subgroupBroadcast(x[3], 0u));
      s[1] += y * mat4x4f(subgroupBroadcast(x[0], 1u), subgroupBroadcast(x[1], 1u),
                          subgroupBroadcast(x[2], 1u), subgroupBroadcast(x[3], 1u));
      s[2] += y * mat4x4f(subgroupBroadcast(x[0], 2u), subgroupBroadcast(x[1], 2u),
                          subgroupBroadcast(x[2], 2u), subgroupBroadcast(x[3], 2u));
      s[3] += y * mat4x4f(subgroupBroadcast(x[0], 3u), subgroupBroadcast(x[1], 3u),
                          subgroupBroadcast(x[2], 3u), subgroupBroadcast(x[3], 3u));
      s[4] += y * mat4x4f(subgroupBroadcast(x[0], 4u), subgroupBroadcast(x[1], 4u),
                          subgroupBroadcast(x[2], 4u), subgroupBroadcast(x[3], 4u));
      s[5] += y * mat4x4f(subgroupBroadcast(x[0], 5u), subgroupBroadcast(x[1], 5u),
                          subgroupBroadcast(x[2], 5u), subgroupBroadcast(x[3], 5u));
      s[6] += y * mat4x4f(subgroupBroadcast(x[0], 6u), subgroupBroadcast(x[1], 6u),
                          subgroupBroadcast(x[2], 6u), subgroupBroadcast(x[3], 6u));
      s[7] += y * mat4x4f(subgroupBroadcast(x[0], 7u), subgroupBroadcast(x[1], 7u),
                          subgroupBroadcast(x[2], 7u), subgroupBroadcast(x[3], 7u));
    }
  }
  if (column4 >= n4) { return; }
  // A bound unknown to the compiler: unrolled stores take 4 s to compile instead of 0.5 s.
  let blocks = min((params.m - row + 3u) / 4u, 8u);
  for (var side = 0u; side < num_sides(group); side++) {
    for (var i = 0u; i < blocks; i++) {
      store4(group.z * params.stride_c, side, row + i * 4u, column4, s[i]);
    }
  }
}
`;var $w=`// C = op(A) op(B) with an epilogue such as a sum or an activation, where op transposes or not; for any adapter.
// One tile of C per workgroup: 16 steps of k of A and B go through workgroup memory, each thread owns 8 x 8 elements of
// C.
// Source: the register-blocked SGEMM of Volkov and Demmel, Benchmarking GPUs to Tune Dense Linear Algebra, SC 2008.
// Bindings: a, op(A) (m, k), stored (k, m) if TRANSPOSE_A, read; b, op(B) (k, n), stored (n, k) if TRANSPOSE_B, read;
//   d (m, n) read, used by ADD, SLOPE, POLYNOMIAL, and of UPDATE (any, 4); c (m, n) write, also read by ACCUMULATE; e (m, n) write, of ACTIVATE_KEEP. Of a
//   batch, matrix z of each starts z times its stride (in vec4) after the first. With several terms, C is the sum of the products of
//   \`terms\` matrices of a and of b: step k is one of term k / params.k.
// Epilogues: see gemm_epilogue.wgsl, which precedes this text.
// Grid: x = ceil(n / TILE) column tiles, y = ceil(m / TILE) row tiles, z = splits of the matrices of the batch, where split s
//   of matrix i is z = i splits + s, has the steps s split_k .. of k and stores into matrix z of c; (TILE / 8)^2 threads; thread (tx, ty) owns the
//   rows 8 ty .. 8 ty + 7 and the columns 4 tx .. 4 tx + 3 and TILE / 2 + 4 tx ..: neighbours read neighbouring words.
// Numerics: f32, fma, k ascending. Loads are clamped into the matrix, those beyond k are multiplied by 0; values
//   beyond m and n are not stored. The next 16 steps of k are fetched while the present ones are multiplied.
//   If symmetric == 1, C = C^T is known: tiles below the diagonal are stored on both sides of it, those above are
//   skipped.
// Limits: split_k % 16 == 0; k % 16 == 0 with several terms; n % 4 == 0; k % 4 == 0 unless TRANSPOSE_A; m % 4 == 0 if TRANSPOSE_A; not both transposed; TILE is 64 or 128;
//   m == n if symmetric.
struct Params { m: u32, n: u32, k: u32, epilogue: u32, stride_a: u32, stride_b: u32, stride_c: u32, splits: u32, split_k: u32,
  symmetric: u32, first_factors: u32, terms: u32 }

override TRANSPOSE_A: bool = false;
override TRANSPOSE_B: bool = false;
override TILE: u32 = 64;

@group(0) @binding(0) var<storage, read> a: array<vec4f>;
@group(0) @binding(1) var<storage, read> b: array<vec4f>;
@group(0) @binding(2) var<storage, read> d: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> c: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> e: array<vec4f>;
@group(0) @binding(5) var<uniform> params: Params;

const TILE_K = 16u;
override TILE4: u32 = TILE / 4u;
override THREADS_X: u32 = TILE / 8u;
override THREADS: u32 = THREADS_X * THREADS_X;

// Row k of the tile: TILE rows of op(A), or TILE columns of op(B).
var<workgroup> tile_a: array<vec4f, TILE_K * TILE4>;
var<workgroup> tile_b: array<vec4f, TILE_K * TILE4>;

// Column i: step all_k + i of k, at the rows row .. row + 3 of op(A), which starts at a[first_term].
fn load_a(first_term: u32, row: u32, all_k: u32) -> mat4x4f {
  let term = min(all_k / params.k, params.terms - 1u);
  let k = all_k - term * params.k;
  let first = first_term + term * params.stride_a;
  if (TRANSPOSE_A) {
    let m4 = params.m / 4u;
    let steps = vec4u(k) + vec4u(0u, 1u, 2u, 3u);
    let at = first + min(steps, vec4u(params.k - 1u)) * m4 + min(row / 4u, m4 - 1u);
    let keep = vec4f(steps < vec4u(params.k));
    return mat4x4f(a[at.x] * keep.x, a[at.y] * keep.y, a[at.z] * keep.z, a[at.w] * keep.w);
  }
  let k4 = params.k / 4u;
  let rows = min(vec4u(row) + vec4u(0u, 1u, 2u, 3u), vec4u(params.m - 1u));
  let at = first + rows * k4 + min(k / 4u, k4 - 1u);
  return transpose(mat4x4f(a[at.x], a[at.y], a[at.z], a[at.w]) * f32(k < params.k));
}

// Column i: step all_k + i of k, at the columns column .. column + 3 of op(B), which starts at b[first_term].
fn load_b(first_term: u32, column: u32, all_k: u32) -> mat4x4f {
  let term = min(all_k / params.k, params.terms - 1u);
  let k = all_k - term * params.k;
  let first = first_term + term * params.stride_b;
  let n4 = params.n / 4u;
  let column4 = min(column / 4u, n4 - 1u);
  if (TRANSPOSE_B) {
    let k4 = params.k / 4u;
    let at = first + (vec4u(column4 * 4u) + vec4u(0u, 1u, 2u, 3u)) * k4 + min(k / 4u, k4 - 1u);
    return transpose(mat4x4f(b[at.x], b[at.y], b[at.z], b[at.w]));
  }
  let at = first + min(vec4u(k) + vec4u(0u, 1u, 2u, 3u), vec4u(params.k - 1u)) * n4 + column4;
  return mat4x4f(b[at.x], b[at.y], b[at.z], b[at.w]);
}

// Row j of a 4 x 4 block: sum + x[j] y.
fn outer(sum: mat4x4f, x: vec4f, y: vec4f) -> mat4x4f {
  return mat4x4f(fma(x.xxxx, y, sum[0]), fma(x.yyyy, y, sum[1]), fma(x.zzzz, y, sum[2]), fma(x.wwww, y, sum[3]));
}

@compute @workgroup_size(THREADS)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32) {
  if (params.symmetric == 1u && group.x > group.y) { return; }
  let tx = thread % THREADS_X;
  let ty = thread / THREADS_X;
  let row = group.y * TILE;
  let column = group.x * TILE;
  // The TILE x 16 elements of each matrix are TILE4 x 4 blocks, of which each thread loads at most one.
  let carries = thread < TILE4 * 4u;
  let a_at = vec2u(thread / 4u, thread % 4u);
  let b_at = vec2u(thread % TILE4, min(thread / TILE4, 3u));
  let first_a = group.z / params.splits * params.stride_a;
  let first_b = group.z / params.splits * params.stride_b;
  let k_begin = group.z % params.splits * params.split_k;
  let k_end = min(k_begin + params.split_k, params.k * params.terms);
  var next_a = load_a(first_a, row + a_at.x * 4u, k_begin + a_at.y * 4u);
  var next_b = load_b(first_b, column + b_at.x * 4u, k_begin + b_at.y * 4u);
  var s00 = mat4x4f();
  var s01 = mat4x4f();
  var s10 = mat4x4f();
  var s11 = mat4x4f();
  for (var k = k_begin; k < k_end; k += TILE_K) {
    workgroupBarrier();
    if (carries) {
      let to_a = a_at.y * 4u * TILE4 + a_at.x;
      let to_b = b_at.y * 4u * TILE4 + b_at.x;
      tile_a[to_a] = next_a[0];
      tile_a[to_a + TILE4] = next_a[1];
      tile_a[to_a + 2u * TILE4] = next_a[2];
      tile_a[to_a + 3u * TILE4] = next_a[3];
      tile_b[to_b] = next_b[0];
      tile_b[to_b + TILE4] = next_b[1];
      tile_b[to_b + 2u * TILE4] = next_b[2];
      tile_b[to_b + 3u * TILE4] = next_b[3];
    }
    workgroupBarrier();
    next_a = load_a(first_a, row + a_at.x * 4u, k + TILE_K + a_at.y * 4u);
    next_b = load_b(first_b, column + b_at.x * 4u, k + TILE_K + b_at.y * 4u);
    for (var i = 0u; i < TILE_K; i++) {
      let x0 = tile_a[i * TILE4 + ty * 2u];
      let x1 = tile_a[i * TILE4 + ty * 2u + 1u];
      let y0 = tile_b[i * TILE4 + tx];
      let y1 = tile_b[i * TILE4 + tx + THREADS_X];
      s00 = outer(s00, x0, y0);
      s01 = outer(s01, x0, y1);
      s10 = outer(s10, x1, y0);
      s11 = outer(s11, x1, y1);
    }
  }
  let column4 = column / 4u + tx;
  let first_c = group.z * params.stride_c;
  for (var side = 0u; side < num_sides(group); side++) {
    store4(first_c, side, row + ty * 8u, column4, s00);
    store4(first_c, side, row + ty * 8u, column4 + THREADS_X, s01);
    store4(first_c, side, row + ty * 8u + 4u, column4, s10);
    store4(first_c, side, row + ty * 8u + 4u, column4 + THREADS_X, s11);
  }
}
`;var Pw=`// g = clip gradient; momentum += (1 - mu) (g - momentum); x = g + mu (momentum - g): Nesterov's momentum in Muon's form.
// Source: Jordan et al., Muon: An optimizer for hidden layers in neural networks, 2024; the form of torch.optim.Muon.
// Bindings: gradient (length) read; hyper read: mu at 0, see muon_factors.wgsl; clip read: factor at 0, see
//   clip_factor.wgsl; momentum (length) read and write, unchanged where clip == 0; x (length) write.
// Grid: workgroups of 64 threads over length / 4 vec4, BATCH of them a thread, 64 apart. Numerics: f32.
// Limits: length % 4 == 0.
struct Params { length: u32 }

@group(0) @binding(0) var<storage, read> gradient: array<vec4f>;
@group(0) @binding(1) var<storage, read> hyper: array<f32>;
@group(0) @binding(2) var<storage, read> clip: array<f32>;
@group(0) @binding(3) var<storage, read_write> momentum: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> x: array<vec4f>;
@group(0) @binding(5) var<uniform> params: Params;

const BATCH = 8u;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let factor = clip[0];
  let mu = hyper[0];
  let start = (group.y * groups.x + group.x) * 64u * BATCH + thread;
  let end = min(start + 64u * BATCH, params.length / 4u);
  for (var i = start; i < end; i += 64u) {
    if (factor == 0f) {
      // The gradient may hold NaN; the update will be skipped, x only has to be finite.
      x[i] = momentum[i];
      continue;
    }
    let g = gradient[i] * factor;
    let m = momentum[i] + (1f - mu) * (g - momentum[i]);
    momentum[i] = m;
    x[i] = g + mu * (m - g);
  }
}
`;var Iw=`// factors[i] = (1 / norm^2, 1 - lr decay, lr shape_factor / norm, 0), or (1 / norm^2, 1, 0, 0) if clip == 0, for each matrix
//   X_i, with its Frobenius norm from the Gram matrix: norm = max(sqrt(trace(X_i X_i^T)), epsilon).
// Source: as muon_momentum.wgsl; epsilon 1e-7 as torch.optim.Muon; decoupled weight decay.
// Bindings: gram read: matrix i (size, size) from gram[i stride] on; hyper read: mu, lr, decay, unused, and shape_factor of
//   matrix i at 4 + first + i; clip read: factor at 0, see clip_factor.wgsl; factors write, from factors[first] on.
// Grid: one workgroup of LANES lanes per matrix. Numerics: f32; per lane, then over lanes.
struct Params { size: u32, stride: u32, count: u32, first: u32 }

@group(0) @binding(0) var<storage, read> gram: array<f32>;
@group(0) @binding(1) var<storage, read> hyper: array<f32>;
@group(0) @binding(2) var<storage, read> clip: array<f32>;
@group(0) @binding(3) var<storage, read_write> factors: array<vec4f>;
@group(0) @binding(4) var<uniform> params: Params;

const EPSILON = 1e-7f;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let matrix = group.y * groups.x + group.x;
  if (matrix >= params.count) { return; }
  var sum = 0f;
  for (var i = lane; i < params.size; i += LANES) {
    sum += gram[matrix * params.stride + i * (params.size + 1u)];
  }
  let norm = max(sqrt(lane_sum(sum, lane)), EPSILON);
  let is_skipped = clip[0] == 0f;
  let keep = select(1f - hyper[1] * hyper[2], 1f, is_skipped);
  let step = select(hyper[1] * hyper[4u + params.first + matrix] / norm, 0f, is_skipped);
  if (lane == 0u) { factors[params.first + matrix] = vec4f(1f / (norm * norm), keep, step, 0f); }
}
`;var Rw=`// gram = gram / norm^2 for each matrix of a stack, so that no eigenvalue is above 1.
// Source: as muon_momentum.wgsl.
// Bindings: factors read: 1 / norm^2 of matrix i in the first component of factors[first + i], see muon_factors.wgsl; gram
//   read and write: matrix i has the \`stride\` elements from i stride on.
// Grid: workgroups of 64 threads over stride / 4 vec4, BATCH of them a thread, 64 apart, times z = matrices. Numerics: f32.
// Limits: stride % 4 == 0.
struct Params { stride: u32, first: u32 }

@group(0) @binding(0) var<storage, read> factors: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> gram: array<vec4f>;
@group(0) @binding(2) var<uniform> params: Params;

const BATCH = 8u;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let factor = factors[params.first + group.z].x;
  let first = group.z * (params.stride / 4u);
  let start = (group.y * groups.x + group.x) * 64u * BATCH + thread;
  let end = min(start + 64u * BATCH, params.stride / 4u);
  for (var i = start; i < end; i += 64u) {
    gram[first + i] = gram[first + i] * factor;
  }
}
`;var Nw=`// losses[r] = -log softmax(z[r, :])[targets[r]] where loss_mask[r] != 0, else 0, with z = s tanh(logits / s) if SOFTCAP,
// else z = logits; and if GRADIENT, d_logits[r, :] = weight[0] * the gradient of losses[r], times loss_scale[0] if SCALED.
// Columns from vocab_size on are padding: they are not read into the softmax and their gradient is 0. Probabilities are
// not stored.
// Where loss_mask[r] is 2 or 3, d_logits is multiplied by marked_weight; the written loss is not.
// If TAUGHT, where loss_mask[r] is 2 or 3, the gradient is (1 - teacher_weight) times that of the data, including the
//   term below, plus teacher_weight times that of the cross-entropy to q = softmax(z of teacher_logits[r, :]), whose s
//   is teacher_softcap, 0 for none.
// Where loss_mask[r] is 2 or 3 and ordinal_2 or ordinal_3 is not 0, d_logits also has ordinal_i times the gradient of
// sum_j q_j |j - target| / 255, q the softmax over the 256 columns from first_byte on: the Wasserstein-1 distance between
// q and the target's point mass. The written loss is still the cross-entropy.
// Source: Gemma Team, Gemma 2, 2024, section 2 (softcap); Milakov and Gimelshein, Online normalizer calculation for
// softmax, 2018; Hou, Yu and Samaras, Squared earth mover's distance-based loss, 2016, section 3 (distance of ordered classes);
//   Hinton, Vinyals and Dean, Distilling the Knowledge in a Neural Network, 2015 (teacher, at temperature 1).
// Bindings: logits (rows, stride) read; targets, loss_mask (rows) read; weight (1) read; losses (rows) write;
//   d_logits (rows, stride) write if GRADIENT; loss_scale (1) read if SCALED; teacher_logits (rows, stride) read if TAUGHT.
// Grid: one workgroup of LANES lanes per row.
// Numerics: f32, exponentials of base 2, each lane's running maximum subtracted; tanh(x) = 1 - 2 / (e^(2 x) + 1), which is
//   exact to 2^-23 absolutely and does not overflow.
// Limits: stride % 4 == 0; targets < vocab_size <= stride; rows <= 65535 * 65535 through a two-dimensional grid.
struct Params { rows: u32, vocab_size: u32, stride: u32, softcap: f32, first_byte: u32, ordinal_2: f32, ordinal_3: f32,
  marked_weight: f32, teacher_weight: f32, teacher_softcap: f32 }

override SOFTCAP: bool = true;
override GRADIENT: bool = true;
override SCALED: bool = false;
override TAUGHT: bool = false;

@group(0) @binding(0) var<storage, read> logits: array<vec4f>;
@group(0) @binding(1) var<storage, read> targets: array<u32>;
@group(0) @binding(2) var<storage, read> loss_mask: array<u32>;
@group(0) @binding(3) var<storage, read> weight: array<f32>;
@group(0) @binding(4) var<storage, read_write> losses: array<f32>;
@group(0) @binding(5) var<storage, read_write> d_logits: array<vec4f>;
@group(0) @binding(6) var<storage, read> loss_scale: array<f32>;
@group(0) @binding(7) var<storage, read> teacher_logits: array<vec4f>;
@group(0) @binding(8) var<uniform> params: Params;

const LOG2_E = 1.4426950408889634f;
const LN_2 = 0.6931471805599453f;
// Below every logit, and finite, so that the difference of two is not NaN.
const PADDING = -1e30f;

// tanh(logits / s), or the logits themselves.
fn squash(x: vec4f) -> vec4f {
  if (!SOFTCAP) { return x; }
  return 1f - 2f / (exp2(x * (2f * LOG2_E / params.softcap)) + 1f);
}

// The scores of the teacher: its z in units of log 2, so that 2^score = e^z.
fn teacher_scores(at: u32) -> vec4f {
  let x = teacher_logits[at];
  let s = params.teacher_softcap;
  if (s == 0f) { return x * LOG2_E; }
  return (1f - 2f / (exp2(x * (2f * LOG2_E / s)) + 1f)) * (LOG2_E * s);
}

// log2 of the sum of 2^score of the teacher over the columns of the row that starts at base.
fn teacher_log2_sum_of(base: u32, lane: u32) -> f32 {
  var largest = PADDING;
  var sum = 0f;
  for (var i = lane; i < (params.vocab_size + 3u) / 4u; i += LANES) {
    let is_column = 4u * i + vec4u(0u, 1u, 2u, 3u) < vec4u(params.vocab_size);
    let score = select(vec4f(PADDING), teacher_scores(base + i), is_column);
    let new_largest = max(largest, max(max(score.x, score.y), max(score.z, score.w)));
    let powers = exp2(score - new_largest);
    sum = fma(sum, exp2(largest - new_largest), (powers.x + powers.y) + (powers.z + powers.w));
    largest = new_largest;
  }
  let top = lane_max(largest, lane);
  return top + log2(lane_sum(sum * exp2(largest - top), lane));
}

// |column - target| / 255 of the columns that are bytes.
fn distance(columns: vec4u, target_column: u32) -> vec4f {
  return abs(vec4f(columns) - f32(target_column)) / 255f;
}

fn is_byte(columns: vec4u) -> vec4<bool> {
  return columns - params.first_byte < vec4u(256u);
}

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let row = group.y * groups.x + group.x;
  if (row >= params.rows) { return; }
  let width4 = params.stride / 4u;
  let base = row * width4;
  if (loss_mask[row] == 0u) {
    if (lane == 0u) { losses[row] = 0f; }
    if (GRADIENT) {
      for (var i = lane; i < width4; i += LANES) { d_logits[base + i] = vec4f(0f); }
    }
    return;
  }
  // Scores are z in units of log 2, so that 2^score = e^z.
  let unit = select(LOG2_E, LOG2_E * params.softcap, SOFTCAP);
  var largest = PADDING;
  var sum = 0f;
  for (var i = lane; i < (params.vocab_size + 3u) / 4u; i += LANES) {
    let is_column = 4u * i + vec4u(0u, 1u, 2u, 3u) < vec4u(params.vocab_size);
    let score = select(vec4f(PADDING), squash(logits[base + i]) * unit, is_column);
    let new_largest = max(largest, max(max(score.x, score.y), max(score.z, score.w)));
    let powers = exp2(score - new_largest);
    sum = fma(sum, exp2(largest - new_largest), (powers.x + powers.y) + (powers.z + powers.w));
    largest = new_largest;
  }
  let top = lane_max(largest, lane);
  let log2_sum = top + log2(lane_sum(sum * exp2(largest - top), lane));
  let target_column = targets[row];
  if (lane == 0u) {
    let score = squash(logits[base + target_column / 4u])[target_column % 4u] * unit;
    losses[row] = (log2_sum - score) * LN_2;
  }
  if (!GRADIENT) { return; }
  let kind = loss_mask[row];
  let taught = select(0f, params.teacher_weight, TAUGHT && kind >= 2u);
  var teacher_log2_sum = 0f;
  if (taught > 0f) { teacher_log2_sum = teacher_log2_sum_of(base, lane); }
  let ordinal = (1f - taught) *
    (select(0f, params.ordinal_2, kind == 2u) + select(0f, params.ordinal_3, kind == 3u));
  // Of the probability p of all bytes and the mean distance under it: ordinal / p, and ordinal * mean / p.
  var scale = 0f;
  var offset = 0f;
  if (ordinal > 0f) {
    var mass = 0f;
    var moment = 0f;
    for (var i = lane; i < (params.vocab_size + 3u) / 4u; i += LANES) {
      let columns = 4u * i + vec4u(0u, 1u, 2u, 3u);
      let p = exp2(squash(logits[base + i]) * unit - log2_sum);
      let kept = select(vec4f(0f), p, is_byte(columns) & (columns < vec4u(params.vocab_size)));
      mass += dot(kept, vec4f(1f));
      moment += dot(kept, distance(columns, target_column));
    }
    // The probability of all bytes can underflow float32; the term is then 0.
    mass = max(lane_sum(mass, lane), 1e-30f);
    scale = ordinal / mass;
    offset = scale * lane_sum(moment, lane) / mass;
  }
  var factor = weight[0];
  if (kind >= 2u) { factor *= params.marked_weight; }
  if (SCALED) { factor *= loss_scale[0]; }
  for (var i = lane; i < width4; i += LANES) {
    let columns = 4u * i + vec4u(0u, 1u, 2u, 3u);
    let squashed = squash(logits[base + i]);
    let p = exp2(squashed * unit - log2_sum);
    var wanted = vec4f(columns == vec4u(target_column));
    if (taught > 0f) { wanted = mix(wanted, exp2(teacher_scores(base + i) - teacher_log2_sum), taught); }
    var d = p - wanted;
    d += select(vec4f(0f), p * (scale * distance(columns, target_column) - offset), is_byte(columns));
    if (SOFTCAP) { d *= 1f - squashed * squashed; }
    d_logits[base + i] = select(vec4f(0f), d * factor, columns < vec4u(params.vocab_size));
  }
}
`;var Lw=`// Limits the distance of a table's rows from their anchors: for row r < params.rows, d = table[r, :] - anchors[r, :];
//   where |d| > limits[r], table[r, :] = anchors[r, :] + d limits[r] / |d|.
// Bindings: anchors (rows, width) read; limits (rows) read; table (rows, width) read and write.
// Grid: one workgroup of LANES lanes per row. Numerics: f32; sum of squares per lane, then over lanes.
// Limits: width % 4 == 0.
struct Params { rows: u32, width: u32 }

@group(0) @binding(0) var<storage, read> anchors: array<vec4f>;
@group(0) @binding(1) var<storage, read> limits: array<f32>;
@group(0) @binding(2) var<storage, read_write> table: array<vec4f>;
@group(0) @binding(3) var<uniform> params: Params;

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let row = group.y * groups.x + group.x;
  if (row >= params.rows) { return; }
  let width4 = params.width / 4u;
  let base = row * width4;
  var sum = 0f;
  for (var i = lane; i < width4; i += LANES) {
    let d = table[base + i] - anchors[base + i];
    sum += dot(d, d);
  }
  let distance = sqrt(lane_sum(sum, lane));
  let limit = limits[row];
  if (distance <= limit) { return; }
  for (var i = lane; i < width4; i += LANES) {
    table[base + i] = anchors[base + i] + (table[base + i] - anchors[base + i]) * (limit / distance);
  }
}
`;var Cw=`// out[i, :] = log softmax(z[r, :]), r = row_index[i], with z = s tanh(logits / s) if SOFTCAP, else z = logits; columns from
// vocab_size on are padding and ignored.
// Source: as cross_entropy.wgsl, whose losses these are.
// Bindings: logits (rows, stride) read; row_index (n) read; out (n, vocab_size) write.
// Grid: one workgroup of LANES lanes per chosen row.
// Numerics: f32, exponentials of base 2, each lane's running maximum subtracted; tanh as in cross_entropy.wgsl.
// Limits: row_index < rows; n <= 65535 * 65535 through a two-dimensional grid.
struct Params { num_rows: u32, vocab_size: u32, stride: u32, softcap: f32 }

override SOFTCAP: bool = true;

@group(0) @binding(0) var<storage, read> logits: array<f32>;
@group(0) @binding(1) var<storage, read> row_index: array<u32>;
@group(0) @binding(2) var<storage, read_write> out: array<f32>;
@group(0) @binding(3) var<uniform> params: Params;

const LOG2_E = 1.4426950408889634f;
const LN_2 = 0.6931471805599453f;
// Below every logit, and finite, so that the difference of two is not NaN.
const LOWEST = -1e30f;

// z in units of log 2, so that 2^score = e^z.
fn score_of(x: f32) -> f32 {
  if (!SOFTCAP) { return x * LOG2_E; }
  return (1f - 2f / (exp2(x * (2f * LOG2_E / params.softcap)) + 1f)) * params.softcap * LOG2_E;
}

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let i = group.y * groups.x + group.x;
  if (i >= params.num_rows) { return; }
  let base = row_index[i] * params.stride;
  var largest = LOWEST;
  var sum = 0f;
  for (var column = lane; column < params.vocab_size; column += LANES) {
    let score = score_of(logits[base + column]);
    let new_largest = max(largest, score);
    sum = fma(sum, exp2(largest - new_largest), exp2(score - new_largest));
    largest = new_largest;
  }
  let top = lane_max(largest, lane);
  let log2_sum = top + log2(lane_sum(sum * exp2(largest - top), lane));
  for (var column = lane; column < params.vocab_size; column += LANES) {
    out[i * params.vocab_size + column] = (score_of(logits[base + column]) - log2_sum) * LN_2;
  }
}
`;var Dw=`// dx of y = rope(norm(x)) for each head, given dy: dz is dy with the inverse rotation, dx = s (dz - x s^2 mean(x dz)),
// or dz if not NORM.
// Source: the derivative of qk_norm_rope_forward.wgsl; a rotation's transpose is its inverse.
// Bindings: x, dy (rows, H, D) read; rotation (T, D / 8, 2, 4) read: 4 cosines, 4 sines; scale (rows, H) read if NORM: s
//   of the forward pass; previous read if SHIFT; dx (rows, H, D) write.
// If SHIFT, the gradients of the shifted quarters came from the rows whose \`previous\` this one is: itself or the next.
// Grid: ceil(rows * H / 64) workgroups of 64 threads over x and y, a thread per head of a row.
// Numerics: f32. Limits: D = head_dim is a multiple of 8, or of 16 if SHIFT; rows of \`previous\`: num_rows.
struct Params { num_heads_total: u32, num_heads: u32, head_dim: u32, sequence_length: u32, first_shifted: u32,
  num_rows: u32 }

override NORM: bool = true;
override SHIFT: bool = false;

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> scale: array<f32>;
@group(0) @binding(2) var<storage, read> rotation: array<vec4f>;
@group(0) @binding(3) var<storage, read> dy: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> dx: array<vec4f>;
@group(0) @binding(5) var<storage, read> previous: array<u32>;
@group(0) @binding(6) var<uniform> params: Params;

// Dims 4 i onwards and D / 2 + 4 i onwards of a head, which a rotation turns into one another.
struct Pair { first: vec4f, second: vec4f }

// Pairs that stay in registers between the sum and the result: all for D <= 32; those beyond are read twice.
const NUM_KEPT = 4u;

fn x_pair(at: u32) -> Pair {
  if (!NORM) { return Pair(vec4f(0), vec4f(0)); }
  return Pair(x[at], x[at + params.head_dim / 8u]);
}

// The rows whose gradients a head's shifted quarters have: its own, the next.
struct Users { own: bool, next: bool }

fn users_of(head: u32) -> Users {
  if (!SHIFT || head < params.first_shifted) { return Users(true, false); }
  let row = (head - params.first_shifted) / params.num_heads;
  let next = min(row + 1u, params.num_rows - 1u);
  return Users(previous[row] == row, next > row && previous[next] == row);
}

// The gradient with respect to the normalised x, at pair i.
fn dz_pair(first: u32, i: u32, table: u32, users: Users) -> Pair {
  let half = params.head_dim / 8u;
  let is_shifted = SHIFT && i >= half / 2u;
  let at = first + i;
  var d = Pair(vec4f(0), vec4f(0));
  if (!is_shifted || users.own) { d = Pair(dy[at], dy[at + half]); }
  if (is_shifted && users.next) {
    let next = at + params.num_heads * half * 2u;
    d = Pair(d.first + dy[next], d.second + dy[next + half]);
  }
  let cosine = rotation[table + 2u * i];
  let sine = rotation[table + 2u * i + 1u];
  return Pair(d.first * cosine + d.second * sine, d.second * cosine - d.first * sine);
}

fn dot_pairs(a: Pair, b: Pair) -> f32 {
  return dot(a.first, b.first) + dot(a.second, b.second);
}

fn store_dx(at: u32, of_x: Pair, of_dz: Pair, s: f32, slope: f32) {
  dx[at] = (of_dz.first - of_x.first * slope) * s;
  dx[at + params.head_dim / 8u] = (of_dz.second - of_x.second * slope) * s;
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let head = (group.y * groups.x + group.x) * 64u + thread;
  if (head >= params.num_heads_total) { return; }
  let first = head * (params.head_dim / 4u);
  let num_pairs = params.head_dim / 8u;
  let table = head / params.num_heads % params.sequence_length * (params.head_dim / 4u);
  let users = users_of(head);
  var kept_x: array<Pair, NUM_KEPT>;
  var kept_dz: array<Pair, NUM_KEPT>;
  var sum = 0f;
  for (var i = 0u; i < NUM_KEPT; i++) {
    if (i < num_pairs) {
      kept_x[i] = x_pair(first + i);
      kept_dz[i] = dz_pair(first, i, table, users);
      sum += dot_pairs(kept_x[i], kept_dz[i]);
    }
  }
  var s = 1f;
  var slope = 0f;
  if (NORM) {
    for (var i = NUM_KEPT; i < num_pairs; i++) {
      sum += dot_pairs(x_pair(first + i), dz_pair(first, i, table, users));
    }
    s = scale[head];
    slope = sum / f32(params.head_dim) * s * s;
  }
  for (var i = 0u; i < NUM_KEPT; i++) {
    if (i < num_pairs) { store_dx(first + i, kept_x[i], kept_dz[i], s, slope); }
  }
  for (var i = NUM_KEPT; i < num_pairs; i++) {
    store_dx(first + i, x_pair(first + i), dz_pair(first, i, table, users), s, slope);
  }
}
`;var Bw=`// y = rope(norm(x)) of each head: norm(x) = s x with s = 1 / sqrt(mean(x^2) + eps) over its D dims, or s = 1 if not NORM;
// rope turns each pair (x[i], x[i + D / 2]) by the angle t * 10000^(-2 i / D), t = row % sequence_length.
// Source: Su et al., RoFormer, 2021, equation 34, with pairs from the two halves instead of neighbours, as in GPT-NeoX;
//   Henry et al., Query-Key Normalization for Transformers, 2020, with rmsNorm.
// Bindings: x (rows, H, D) read; rotation (T, D / 8, 2, 4) read: 4 cosines, 4 sines; y (rows, H, D) write;
//   scale (rows, H) write if NORM: s, for the backward pass; previous read if SHIFT, see below.
// If SHIFT, the 2nd and the 4th quarter of each head from first_shifted on are those of the same head of row previous[r],
//   which is r or r - 1, where row r = 0 has the head first_shifted: see shift_keys.wgsl.
// Grid: ceil(rows * H / 64) workgroups of 64 threads over x and y, a thread per head of a row.
// Numerics: f32; cosines and sines come from the host, since WGSL's are accurate only in [-pi, pi].
// Limits: D = head_dim is a multiple of 8, or of 16 if SHIFT.
struct Params { num_heads_total: u32, num_heads: u32, head_dim: u32, sequence_length: u32, first_shifted: u32 }

override NORM: bool = true;
override SHIFT: bool = false;

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> rotation: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> scale: array<f32>;
@group(0) @binding(4) var<storage, read> previous: array<u32>;
@group(0) @binding(5) var<uniform> params: Params;

const EPSILON = 1.1920929e-7f;

// s of the head that starts at x[first].
fn scale_of(first: u32) -> f32 {
  var sum = 0f;
  for (var i = first; i < first + params.head_dim / 8u; i++) {
    let x1 = x[i];
    let x2 = x[i + params.head_dim / 8u];
    sum += dot(x1, x1) + dot(x2, x2);
  }
  return inverseSqrt(sum / f32(params.head_dim) + EPSILON);
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let head = (group.y * groups.x + group.x) * 64u + thread;
  if (head >= params.num_heads_total) { return; }
  let head_vec4 = params.head_dim / 4u;
  let first = head * head_vec4;
  let table = head / params.num_heads % params.sequence_length * head_vec4;
  var s = 1f;
  if (NORM) {
    s = scale_of(first);
    scale[head] = s;
  }
  var from_first = first;
  var from_table = table;
  var from_s = s;
  if (SHIFT && head >= params.first_shifted) {
    let row = (head - params.first_shifted) / params.num_heads;
    if (previous[row] != row) {
      from_first -= params.num_heads * head_vec4;
      from_table -= head_vec4;
      if (NORM) { from_s = scale_of(from_first); }
    }
  }
  for (var i = 0u; i < head_vec4 / 2u; i++) {
    let is_shifted = SHIFT && i >= head_vec4 / 4u;
    let at = select(first, from_first, is_shifted) + i;
    let turn = select(table, from_table, is_shifted) + 2u * i;
    let factor = select(s, from_s, is_shifted);
    let x1 = x[at] * factor;
    let x2 = x[at + head_vec4 / 2u] * factor;
    let cosine = rotation[turn];
    let sine = rotation[turn + 1u];
    y[first + i] = x1 * cosine - x2 * sine;
    y[first + head_vec4 / 2u + i] = x1 * sine + x2 * cosine;
  }
}
`;var Uw=`// y = x, except for the 2nd and the 4th quarter of each head, which come from another token:
// y[r, h, d] = earlier[previous[r], h, d] there.
// Source: the "partial key offset" of modded-nanogpt (github.com/KellerJordan/modded-nanogpt, records of 2025): a key
//   that contains a part of the token before it lets one block find the successor of a token (Olsson et al., In-context
//   Learning and Induction Heads, 2022, "smeared keys").
// Bindings: x (rows, H, D) read; earlier (any, H, D) read, may be x; previous (rows) read; y (rows, H, D) write.
// Grid: workgroups of 64 threads over the vec4, BATCH of them a thread, 64 apart. Numerics: a copy.
// Limits: D % 16 == 0; previous[r] is a row of earlier.
struct Params { num_vec4: u32, row_vec4: u32, quarter_vec4: u32 }

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> earlier: array<vec4f>;
@group(0) @binding(2) var<storage, read> previous: array<u32>;
@group(0) @binding(3) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(4) var<uniform> params: Params;

const BATCH = 8u;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let start = (group.y * groups.x + group.x) * 64u * BATCH + thread;
  let end = min(start + 64u * BATCH, params.num_vec4);
  for (var i = start; i < end; i += 64u) {
    let column = i % params.row_vec4;
    if (column / params.quarter_vec4 % 2u == 1u) {
      y[i] = earlier[previous[i / params.row_vec4] * params.row_vec4 + column];
    } else {
      y[i] = x[i];
    }
  }
}
`;var Zw=`// c = the sum of the splits of a matrix product, or c += it, for products whose steps of k are divided over workgroups.
// Bindings: partials (batch, splits, length) read; c write, also read if accumulate == 1: matrix z of a batch has the
//   \`length\` elements from c[z stride_c] on.
// Grid: workgroups of 64 threads over length / 4 vec4, BATCH of them a thread, 64 apart, times z = batch.
// Numerics: f32, splits ascending, so results are bit-identical in every run.
// Limits: length % 4 == 0.
struct Params { length: u32, splits: u32, stride_c: u32, accumulate: u32 }

@group(0) @binding(0) var<storage, read> partials: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> c: array<vec4f>;
@group(0) @binding(2) var<uniform> params: Params;

const BATCH = 8u;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let length4 = params.length / 4u;
  let start = (group.y * groups.x + group.x) * 64u * BATCH + thread;
  let end = min(start + 64u * BATCH, length4);
  let first = group.z * params.splits * length4;
  let first_c = group.z * params.stride_c;
  for (var i = start; i < end; i += 64u) {
    var sum = partials[first + i];
    for (var split = 1u; split < params.splits; split++) {
      sum += partials[first + split * length4 + i];
    }
    if (params.accumulate == 1u) { sum += c[first_c + i]; }
    c[first_c + i] = sum;
  }
}
`;var qw=`// partials[first + g] = the sum of x (or of x^2 if SQUARE) over the g-th of num_partials equal parts of x.
// First of two passes: parts by workgroups, then their sum by a second dispatch of this kernel with one workgroup.
// Bindings: x (length) read; partials write, num_partials from \`first\` on, added to if accumulate == 1.
// Grid: num_partials workgroups of LANES lanes, by gridOf. Numerics: f32; per lane, then over lanes: a fixed order.
// Limits: x is allocated for a multiple of 4 elements (like every tensor); elements beyond length are ignored.
struct Params { length: u32, first: u32, num_partials: u32, accumulate: u32 }

override SQUARE: bool = false;

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read_write> partials: array<f32>;
@group(0) @binding(2) var<uniform> params: Params;

fn term(v: vec4f) -> vec4f {
  if (SQUARE) { return v * v; }
  return v;
}

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let part = group.y * groups.x + group.x;
  if (part >= params.num_partials) { return; }
  let length4 = (params.length + 3u) / 4u;
  let part4 = (length4 + params.num_partials - 1u) / params.num_partials;
  let whole4 = params.length / 4u;
  let at = params.first + part;
  var sums = vec4f();
  for (var i = part * part4 + lane; i < min((part + 1u) * part4, whole4); i += LANES) {
    sums += term(x[i]);
  }
  // The last, incomplete vec4.
  if (part == params.num_partials - 1u && lane == 0u && whole4 < length4) {
    sums += select(vec4f(), term(x[whole4]), vec4u(0u, 1u, 2u, 3u) < vec4u(params.length % 4u));
  }
  let total = lane_sum(dot(sums, vec4f(1f)), lane);
  if (lane == 0u) {
    if (params.accumulate == 1u) {
      partials[at] += total;
    } else {
      partials[at] = total;
    }
  }
}
`;var Fw=`// dx[r, :] (+)= s (dy[r, :] - x[r, :] s^2 mean(x[r, :] dy[r, :])) for y = s x, s = 1 / sqrt(mean(x^2) + eps).
// Source: the derivative of Zhang and Sennrich, Root Mean Square Layer Normalization, NeurIPS 2019, equation 4.
// Bindings: x, dy (rows, width) read; scale (rows) read: s of the forward pass; dx (rows, width) write, also read if
//   accumulate == 1.
// Grid: one workgroup of LANES lanes per ROWS_PER_GROUP rows, one after another.
// Numerics: f32; x dy is summed per lane, then over lanes.
// Limits: width % 4 == 0; rows <= 4 * 65535 * 65535 through a two-dimensional grid.
struct Params { rows: u32, width: u32, accumulate: u32 }

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> scale: array<f32>;
@group(0) @binding(2) var<storage, read> dy: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> dx: array<vec4f>;
@group(0) @binding(4) var<uniform> params: Params;

const ROWS_PER_GROUP = 4u;
// The number of vec4 columns of a lane that stay in registers between the sum and the result; those beyond are read
// twice.
const NUM_KEPT = 4u;

fn store_dx(i: u32, of_x: vec4f, of_dy: vec4f, s: f32, slope: f32) {
  var value = (of_dy - of_x * slope) * s;
  if (params.accumulate == 1u) { value += dx[i]; }
  dx[i] = value;
}

@compute @workgroup_size(LANES)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) lane: u32) {
  let first_row = (group.y * groups.x + group.x) * ROWS_PER_GROUP;
  let end_row = min(first_row + ROWS_PER_GROUP, params.rows);
  let width4 = params.width / 4u;
  for (var row = first_row; row < end_row; row++) {
    let first = row * width4 + lane;
    let end = (row + 1u) * width4;
    var kept_x: array<vec4f, NUM_KEPT>;
    var kept_dy: array<vec4f, NUM_KEPT>;
    var sum = 0f;
    for (var k = 0u; k < NUM_KEPT; k++) {
      let i = first + k * LANES;
      if (i < end) {
        kept_x[k] = x[i];
        kept_dy[k] = dy[i];
        sum += dot(kept_x[k], kept_dy[k]);
      }
    }
    for (var i = first + NUM_KEPT * LANES; i < end; i += LANES) {
      sum += dot(x[i], dy[i]);
    }
    let s = scale[row];
    let slope = lane_sum(sum, lane) / f32(params.width) * s * s;
    for (var k = 0u; k < NUM_KEPT; k++) {
      let i = first + k * LANES;
      if (i < end) { store_dx(i, kept_x[k], kept_dy[k], s, slope); }
    }
    for (var i = first + NUM_KEPT * LANES; i < end; i += LANES) {
      store_dx(i, x[i], dy[i], s, slope);
    }
  }
}
`;var jw=`// dv[j] = sum_t p[t, j] d_out[t] and dk[j] = sum_t ds[t, j] q[t] / sqrt(D) over the queries t that see key j, those with
// segment_start[t] <= j <= t; p, ds and delta as in attention_backward_query_subgroup8.wgsl, which runs before.
// Source: Dao et al., FlashAttention, NeurIPS 2022, algorithm 4. For adapters whose subgroups have exactly 8 lanes: each
// lane owns whole keys; slots, tiles and their products are in attention_slots_subgroup8.wgsl.
// Bindings: q, k, v, d_out (B, T, H, D) read; log_sum_exp, delta (B, T, H) read; segment_start (B, T) read;
//   dk, dv (B, T, H, D) write.
// Grid: x = ceil(T * D / 1024) key tiles, y = H, z = B; one subgroup a tile; key n of lane l is 8 n + l of the tile.
// Numerics: f32, exponentials of base 2, queries ascending, no atomics.
// Limits: D is 32, 64 or 128; segment_start must not decrease along t; B, H <= 65535; 9 storage buffers.
struct Params { sequence_length: u32, num_heads: u32, slot_parts: u32 }

override KEYS: u32 = 32u / SLICES;

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<storage, read> d_out: array<vec4f>;
@group(0) @binding(4) var<storage, read> log_sum_exp: array<f32>;
@group(0) @binding(5) var<storage, read> delta: array<f32>;
@group(0) @binding(6) var<storage, read> segment_start: array<u32>;
@group(0) @binding(7) var<storage, read_write> dk: array<vec4f>;
@group(0) @binding(8) var<storage, read_write> dv: array<vec4f>;
@group(0) @binding(9) var<uniform> params: Params;

const LOG2_E = 1.4426950408889634f;

fn load_q(at: u32) -> mat4x4f { return mat4x4f(q[at], q[at + 1u], q[at + 2u], q[at + 3u]); }
fn load_d_out(at: u32) -> mat4x4f { return mat4x4f(d_out[at], d_out[at + 1u], d_out[at + 2u], d_out[at + 3u]); }

fn load_query(slice: u32, at: u32, query: ptr<function, Tile>, d_query: ptr<function, Tile>) {
  if (slice >= SLICES) { return; }
  (*query).slice[slice] = load_q(at + slice * 8u);
  (*d_query).slice[slice] = load_d_out(at + slice * 8u);
}

fn spread_row(x: f32) -> vec4f {
  return vec4f(subgroupBroadcast(x, 0u), subgroupBroadcast(x, 1u), subgroupBroadcast(x, 2u), subgroupBroadcast(x, 3u));
}

fn spread_starts(x: u32) -> vec4u {
  return vec4u(subgroupBroadcast(x, 0u), subgroupBroadcast(x, 1u), subgroupBroadcast(x, 2u), subgroupBroadcast(x, 3u));
}

// Values of the tile's queries.
struct Queries { t: vec4u, start: vec4u, log2_sum: vec4f, delta: vec4f }

// For the lane's key n: turns the scores into weights, and the gradients of the weights into those of the scores,
// without the factor 1 / sqrt(D).
fn gradients(n: u32, key: u32, queries: Queries, s: ptr<function, Scores>, dp: ptr<function, Scores>) {
  if (n * SLICES >= 4u) { return; }
  let visible = (queries.start <= vec4u(key)) & (vec4u(key) <= queries.t) &
    (queries.t < vec4u(params.sequence_length));
  let weight = select(vec4f(0f), exp2((*s).row[n] - queries.log2_sum), visible);
  (*s).row[n] = weight;
  (*dp).row[n] = weight * ((*dp).row[n] - queries.delta);
}

@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let length = params.sequence_length;
  let first = group.x * KEYS;
  let row0 = group.z * length;
  let head0 = (row0 * params.num_heads + group.y) * (HEAD_DIM / 4u);
  let stride = params.num_heads * (HEAD_DIM / 4u);
  // The key of each slot; past the sequence's end the last one again, which is not stored.
  let wanted = first + lane + 8u * (vec4u(0u, 1u, 2u, 3u) / SLICES);
  let keys = min(wanted, vec4u(length - 1u));
  let at = head0 + keys * stride;
  let scale = inverseSqrt(f32(HEAD_DIM));
  var key = Slots();
  var value = Slots();
  for (var i = 0u; i < params.slot_parts; i++) {
    let source = at[i / 8u] + i % (SLICES * 8u);
    key.part[i] = k[source] * (scale * LOG2_E);
    value.part[i] = v[source];
  }
  var d_key = Slots();
  var d_value = Slots();
  let last = min(first + KEYS, length) - 1u;
  for (var t = first / 4u * 4u; t < length; t += 4u) {
    if (segment_start[row0 + t] > last) { break; }
    let own_t = min(t + lane % 4u, length - 1u);
    let row = (row0 + own_t) * params.num_heads + group.y;
    let queries = Queries(t + vec4u(0u, 1u, 2u, 3u), spread_starts(segment_start[row0 + own_t]),
      spread_row(log_sum_exp[row]) * LOG2_E, spread_row(delta[row]));
    let source = head0 + own_t * stride + lane / 4u * 4u;
    var query = Tile();
    var d_query = Tile();
    load_query(0u, source, &query, &d_query);
    load_query(1u, source, &query, &d_query);
    load_query(2u, source, &query, &d_query);
    load_query(3u, source, &query, &d_query);
    var s = score(&key, &query);
    var dp = score(&value, &d_query);
    gradients(0u, keys.x, queries, &s, &dp);
    gradients(1u, keys[SLICES % 4u], queries, &s, &dp);
    gradients(2u, keys[2u * SLICES % 4u], queries, &s, &dp);
    gradients(3u, keys[3u * SLICES % 4u], queries, &s, &dp);
    weigh(&s, &d_query, &d_value);
    weigh(&dp, &query, &d_key);
  }
  var d_key_result = d_key;
  var d_value_result = d_value;
  for (var i = 0u; i < params.slot_parts; i++) {
    if (wanted[i / 8u] < length) {
      let target_part = at[i / 8u] + i % (SLICES * 8u);
      dk[target_part] = d_key_result.part[i] * scale;
      dv[target_part] = d_value_result.part[i];
    }
  }
}
`;var Hw=`// dv[j] = sum_t p[t, j] d_out[t] and dk[j] = sum_t ds[t, j] q[t] / sqrt(D) over the queries t that see key j, those with
// segment_start[t] <= j <= t; p, ds and delta as in attention_backward_query_tiled.wgsl, which runs before.
// Source: Dao et al., FlashAttention, NeurIPS 2022, algorithm 4. For any adapter; slices and tiles are in
// attention_slices_tiled.wgsl.
// Bindings: q, k, v, d_out (B, T, H, D) read; log_sum_exp, delta (B, T, H) read; segment_start (B, T) read;
//   dk, dv (B, T, H, D) write.
// Grid: x = ceil(T * D / 2048) key tiles, y = H, z = B; 64 threads a tile.
// Numerics: f32, exponentials of base 2, queries ascending, no atomics.
// Limits: D is 32, 64 or 128; segment_start must not decrease along t; B, H <= 65535; 9 storage buffers.
struct Params { sequence_length: u32, num_heads: u32, slice_parts: u32, tile_rows: u32 }

override KEYS: u32 = THREADS / SLICES;

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<storage, read> d_out: array<vec4f>;
@group(0) @binding(4) var<storage, read> log_sum_exp: array<f32>;
@group(0) @binding(5) var<storage, read> delta: array<f32>;
@group(0) @binding(6) var<storage, read> segment_start: array<u32>;
@group(0) @binding(7) var<storage, read_write> dk: array<vec4f>;
@group(0) @binding(8) var<storage, read_write> dv: array<vec4f>;
@group(0) @binding(9) var<uniform> params: Params;

const LOG2_E = 1.4426950408889634f;

// The segment start of each query of the tile; past the sequence's end, a start that no key reaches.
var<workgroup> tile_start: array<u32, 16>;
var<workgroup> tile_log2_sum: array<f32, 16>;
var<workgroup> tile_delta: array<f32, 16>;

fn load_tile(first_t: u32, row0: u32, head: u32, stride: u32, thread: u32) {
  let length = params.sequence_length;
  for (var i = thread; i < TILE_PARTS; i += THREADS) {
    let t = min(first_t + i / (HEAD_DIM / 4u), length - 1u);
    let at = (row0 + t) * stride + head * (HEAD_DIM / 4u) + i % (HEAD_DIM / 4u);
    tile[i] = q[at];
    tile[TILE_PARTS + i] = d_out[at];
  }
  if (thread < params.tile_rows) {
    let t = min(first_t + thread, length - 1u);
    let row = (row0 + t) * params.num_heads + head;
    tile_start[thread] = select(length, segment_start[row0 + t], first_t + thread < length);
    tile_log2_sum[thread] = log_sum_exp[row] * LOG2_E;
    tile_delta[thread] = delta[row];
  }
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32) {
  let length = params.sequence_length;
  let first = group.x * KEYS;
  let wanted = first + thread / SLICES;
  // Past the sequence's end the last key again, which is not stored.
  let own = min(wanted, length - 1u);
  let row0 = group.z * length;
  let stride = params.num_heads * (HEAD_DIM / 4u);
  let slice = thread % SLICES * 8u;
  let at = (row0 + own) * stride + group.y * (HEAD_DIM / 4u) + slice;
  let scale = inverseSqrt(f32(HEAD_DIM));
  var key = Slice();
  var value = Slice();
  for (var i = 0u; i < params.slice_parts; i++) {
    key.part[i] = k[at + i] * (scale * LOG2_E);
    value.part[i] = v[at + i];
  }
  var d_key = Slice();
  var d_value = Slice();
  let last = min(first + KEYS, length) - 1u;
  for (var t = first; t < length; t += params.tile_rows) {
    if (segment_start[row0 + t] > last) { break; }
    workgroupBarrier();
    load_tile(t, row0, group.y, stride, thread);
    workgroupBarrier();
    for (var j = 0u; j < params.tile_rows; j++) {
      let part = j * (HEAD_DIM / 4u) + slice;
      first_dots[j * THREADS + thread] = dot_slice(&key, part);
      second_dots[j * THREADS + thread] = dot_slice(&value, TILE_PARTS + part);
    }
    workgroupBarrier();
    for (var j = 0u; j < params.tile_rows; j++) {
      let part = j * (HEAD_DIM / 4u) + slice;
      let is_visible = tile_start[j] <= own && own <= t + j;
      let weight = select(0f, exp2(first_dot(j, thread) - tile_log2_sum[j]), is_visible);
      add_slice(&d_value, weight, TILE_PARTS + part);
      add_slice(&d_key, weight * (second_dot(j, thread) - tile_delta[j]), part);
    }
  }
  if (wanted >= length) { return; }
  for (var i = 0u; i < params.slice_parts; i++) {
    dk[at + i] = d_key.part[i] * scale;
    dv[at + i] = d_value.part[i];
  }
}
`;var Kw=`// dq[t] = sum_j ds[t, j] k[j] / sqrt(D) with ds[t, j] = p[t, j] (d_out[t] . v[j] - delta[t]), p[t, j] =
// exp(q[t] . k[j] / sqrt(D) - log_sum_exp[t]) over segment_start[t] <= j <= t, and delta[t] = d_out[t] . out[t], which is
// also written, for the keys' gradient. For each head; the forward pass is attention_forward_subgroup8.wgsl.
// Source: Dao et al., FlashAttention, NeurIPS 2022, algorithm 4. For adapters whose subgroups have exactly 8 lanes: each
// lane owns whole queries; slots, tiles and their products are in attention_slots_subgroup8.wgsl.
// Bindings: q, k, v, out, d_out (B, T, H, D) read; log_sum_exp (B, T, H) read; segment_start (B, T) read;
//   delta (B, T, H) write; dq (B, T, H, D) write.
// Grid: x = ceil(T * D / 1024) query tiles, y = H, z = B; one subgroup a tile; query n of lane l is 8 n + l of the tile.
// Numerics: f32, exponentials of base 2, keys ascending, no atomics.
// Limits: D is 32, 64 or 128; segment_start must not decrease along t; B, H <= 65535; 9 storage buffers.
struct Params { sequence_length: u32, num_heads: u32, slot_parts: u32 }

override QUERIES: u32 = 32u / SLICES;

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<storage, read> out: array<vec4f>;
@group(0) @binding(4) var<storage, read> d_out: array<vec4f>;
@group(0) @binding(5) var<storage, read> log_sum_exp: array<f32>;
@group(0) @binding(6) var<storage, read> segment_start: array<u32>;
@group(0) @binding(7) var<storage, read_write> delta: array<f32>;
@group(0) @binding(8) var<storage, read_write> dq: array<vec4f>;
@group(0) @binding(9) var<uniform> params: Params;

const LOG2_E = 1.4426950408889634f;

fn load_k(at: u32) -> mat4x4f { return mat4x4f(k[at], k[at + 1u], k[at + 2u], k[at + 3u]); }
fn load_v(at: u32) -> mat4x4f { return mat4x4f(v[at], v[at + 1u], v[at + 2u], v[at + 3u]); }

fn load_key(slice: u32, at: u32, key: ptr<function, Tile>, value: ptr<function, Tile>) {
  if (slice >= SLICES) { return; }
  (*key).slice[slice] = load_k(at + slice * 8u);
  (*value).slice[slice] = load_v(at + slice * 8u);
}

// Turns the scores of the lane's query n into their gradients, without the factor 1 / sqrt(D).
fn gradients(n: u32, t: u32, start: u32, first_key: u32, log2_sum: f32, row_delta: f32, s: ptr<function, Scores>,
             dp: ptr<function, Scores>) {
  if (n * SLICES >= 4u) { return; }
  let keys = first_key + vec4u(0u, 1u, 2u, 3u);
  let visible = (keys >= vec4u(start)) & (keys <= vec4u(t));
  let ds = exp2((*s).row[n] - log2_sum) * ((*dp).row[n] - row_delta);
  (*s).row[n] = select(vec4f(0f), ds, visible);
}

@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let length = params.sequence_length;
  let first = group.x * QUERIES;
  let row0 = group.z * length;
  let head0 = (row0 * params.num_heads + group.y) * (HEAD_DIM / 4u);
  let stride = params.num_heads * (HEAD_DIM / 4u);
  // The query of each slot; past the sequence's end the last one again, which is not stored.
  let wanted = first + lane + 8u * (vec4u(0u, 1u, 2u, 3u) / SLICES);
  let t = min(wanted, vec4u(length - 1u));
  let starts = vec4u(segment_start[row0 + t.x], segment_start[row0 + t.y], segment_start[row0 + t.z],
    segment_start[row0 + t.w]);
  let at = head0 + t * stride;
  let rows = (row0 + t) * params.num_heads + group.y;
  let logs = LOG2_E *
    vec4f(log_sum_exp[rows.x], log_sum_exp[rows.y], log_sum_exp[rows.z], log_sum_exp[rows.w]);
  let scale = inverseSqrt(f32(HEAD_DIM));
  var query = Slots();
  var d_query = Slots();
  var delta_sums = vec4f();
  for (var i = 0u; i < params.slot_parts; i++) {
    let source = at[i / 8u] + i % (SLICES * 8u);
    let d = d_out[source];
    query.part[i] = q[source] * (scale * LOG2_E);
    d_query.part[i] = d;
    delta_sums[i / (SLICES * 8u)] += dot(d, out[source]);
  }
  let deltas = delta_sums;
  var sum = Slots();
  let last = min(first + QUERIES, length) - 1u;
  for (var first_key = segment_start[row0 + first] / 4u * 4u; first_key <= last; first_key += 4u) {
    let row = head0 + min(first_key + lane % 4u, length - 1u) * stride + lane / 4u * 4u;
    var key = Tile();
    var value = Tile();
    load_key(0u, row, &key, &value);
    load_key(1u, row, &key, &value);
    load_key(2u, row, &key, &value);
    load_key(3u, row, &key, &value);
    var s = score(&query, &key);
    var dp = score(&d_query, &value);
    gradients(0u, t.x, starts.x, first_key, logs.x, deltas.x, &s, &dp);
    gradients(1u, t[SLICES % 4u], starts[SLICES % 4u], first_key, logs[SLICES % 4u], deltas.y, &s, &dp);
    gradients(2u, t[2u * SLICES % 4u], starts[2u * SLICES % 4u], first_key, logs[2u * SLICES % 4u], deltas.z, &s, &dp);
    gradients(3u, t[3u * SLICES % 4u], starts[3u * SLICES % 4u], first_key, logs[3u * SLICES % 4u], deltas.w, &s, &dp);
    weigh(&s, &key, &sum);
  }
  var result = sum;
  for (var i = 0u; i < params.slot_parts; i++) {
    let slot = i / 8u;
    if (wanted[slot] < length) {
      dq[at[slot] + i % (SLICES * 8u)] = result.part[i] * scale;
      if (i % (SLICES * 8u) == 0u) { delta[rows[slot]] = deltas[slot / SLICES]; }
    }
  }
}
`;var Gw=`// dq[t] = sum_j ds[t, j] k[j] / sqrt(D) with ds[t, j] = p[t, j] (d_out[t] . v[j] - delta[t]), p[t, j] =
// exp(q[t] . k[j] / sqrt(D) - log_sum_exp[t]) over segment_start[t] <= j <= t, and delta[t] = d_out[t] . out[t], which is
// also written, for the keys' gradient. For each head; the forward pass is attention_forward_tiled.wgsl.
// Source: Dao et al., FlashAttention, NeurIPS 2022, algorithm 4. For any adapter; slices and tiles are in
// attention_slices_tiled.wgsl.
// Bindings: q, k, v, out, d_out (B, T, H, D) read; log_sum_exp (B, T, H) read; segment_start (B, T) read;
//   delta (B, T, H) write; dq (B, T, H, D) write.
// Grid: x = ceil(T * D / 2048) query tiles, y = H, z = B; 64 threads a tile.
// Numerics: f32, exponentials of base 2, keys ascending, no atomics.
// Limits: D is 32, 64 or 128; segment_start must not decrease along t; B, H <= 65535; 9 storage buffers.
struct Params { sequence_length: u32, num_heads: u32, slice_parts: u32, tile_rows: u32 }

override QUERIES: u32 = THREADS / SLICES;

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<storage, read> out: array<vec4f>;
@group(0) @binding(4) var<storage, read> d_out: array<vec4f>;
@group(0) @binding(5) var<storage, read> log_sum_exp: array<f32>;
@group(0) @binding(6) var<storage, read> segment_start: array<u32>;
@group(0) @binding(7) var<storage, read_write> delta: array<f32>;
@group(0) @binding(8) var<storage, read_write> dq: array<vec4f>;
@group(0) @binding(9) var<uniform> params: Params;

const LOG2_E = 1.4426950408889634f;

fn load_tile(first_key: u32, head0: u32, stride: u32, thread: u32) {
  for (var i = thread; i < TILE_PARTS; i += THREADS) {
    let row = min(first_key + i / (HEAD_DIM / 4u), params.sequence_length - 1u);
    let at = head0 + row * stride + i % (HEAD_DIM / 4u);
    tile[i] = k[at];
    tile[TILE_PARTS + i] = v[at];
  }
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32) {
  let length = params.sequence_length;
  let first = group.x * QUERIES;
  let wanted = first + thread / SLICES;
  // Past the sequence's end the last query again, which is not stored.
  let t = min(wanted, length - 1u);
  let row0 = group.z * length;
  let head0 = (row0 * params.num_heads + group.y) * (HEAD_DIM / 4u);
  let stride = params.num_heads * (HEAD_DIM / 4u);
  let slice = thread % SLICES * 8u;
  let at = head0 + t * stride + slice;
  let row = (row0 + t) * params.num_heads + group.y;
  let start = segment_start[row0 + t];
  let log2_sum = log_sum_exp[row] * LOG2_E;
  let scale = inverseSqrt(f32(HEAD_DIM));
  var query = Slice();
  var d_query = Slice();
  var delta_part = 0f;
  for (var i = 0u; i < params.slice_parts; i++) {
    query.part[i] = q[at + i] * (scale * LOG2_E);
    let d = d_out[at + i];
    d_query.part[i] = d;
    delta_part += dot(d, out[at + i]);
  }
  first_dots[thread] = delta_part;
  workgroupBarrier();
  let row_delta = first_dot(0u, thread);
  var sum = Slice();
  let last = min(first + QUERIES, length) - 1u;
  for (var key = segment_start[row0 + first]; key <= last; key += params.tile_rows) {
    workgroupBarrier();
    load_tile(key, head0, stride, thread);
    workgroupBarrier();
    for (var j = 0u; j < params.tile_rows; j++) {
      let part = j * (HEAD_DIM / 4u) + slice;
      first_dots[j * THREADS + thread] = dot_slice(&query, part);
      second_dots[j * THREADS + thread] = dot_slice(&d_query, TILE_PARTS + part);
    }
    workgroupBarrier();
    for (var j = 0u; j < params.tile_rows; j++) {
      let is_visible = key + j >= start && key + j <= t;
      let ds = exp2(first_dot(j, thread) - log2_sum) * (second_dot(j, thread) - row_delta);
      add_slice(&sum, select(0f, ds, is_visible), j * (HEAD_DIM / 4u) + slice);
    }
  }
  if (wanted >= length) { return; }
  for (var i = 0u; i < params.slice_parts; i++) { dq[at + i] = sum.part[i] * scale; }
  if (slice == 0u) { delta[row] = row_delta; }
}
`;var Vw=`// out[r] = sum_j p[r, j] v[j], p[r, :] = softmax(q[r] . k[j] / sqrt(D)) for each head, where row r attends to the keys of
// its prompt up to a key of its own (the prompt's keys are stored once) and to those of its own suffix so far.
// Source: as attention_forward_subgroup8.wgsl; the shared prefix as in Juravsky et al., Hydragen: High-Throughput LLM
// Inference with Shared Prefixes, 2024. For adapters whose subgroups have exactly 8 lanes (lavapipe): each lane owns whole
// rows; the prompt's keys are processed in tiles of 4 (attention_slots_subgroup8.wgsl,
// attention_softmax_subgroup8.wgsl), a row's own keys one by one.
// Bindings: q (N, H, D) read; k, v (P, H, D) read; suffix_k, suffix_v (M, H, D) read: keys that rows
//   appended; row_keys (1 + S, N) read: the end of the prompt's keys for each row, excluded, then the index of the row's
//   own key at each step, the newest last; tiles (x) read: rows of one prompt as (first key, end of the keys of all its
//   rows, first row, end of the rows), the ends excluded; out (N, H, D) write.
// Grid: x = tiles, y = H; one subgroup a tile; row n of lane l is 8 n + l of the tile; a tile without rows is skipped.
// Numerics: f32, exponentials of base 2, keys ascending, running maximum subtracted.
// Limits: D is 32, 64 or 128; a tile has at most 1024 / D rows and each row sees at least one of its keys; S >= num_steps.
struct Params { num_rows: u32, num_heads: u32, num_steps: u32, slot_parts: u32 }

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<storage, read> suffix_k: array<vec4f>;
@group(0) @binding(4) var<storage, read> suffix_v: array<vec4f>;
@group(0) @binding(5) var<storage, read> row_keys: array<u32>;
@group(0) @binding(6) var<storage, read> tiles: array<vec4u>;
@group(0) @binding(7) var<storage, read_write> out: array<vec4f>;
@group(0) @binding(8) var<uniform> params: Params;

@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let rows = tiles[group.x];
  if (rows.z >= rows.w) { return; }
  let stride = params.num_heads * (HEAD_DIM / 4u);
  let head0 = group.y * (HEAD_DIM / 4u);
  // The row of each slot; past the tile's end the last one again, which is not stored.
  let wanted = rows.z + lane + 8u * (vec4u(0u, 1u, 2u, 3u) / SLICES);
  let row = min(wanted, vec4u(rows.w - 1u));
  let ends = vec4u(row_keys[row.x], row_keys[row.y], row_keys[row.z], row_keys[row.w]);
  let at = head0 + row * stride;
  let scale = LOG2_E * inverseSqrt(f32(HEAD_DIM));
  var own = Slots();
  for (var i = 0u; i < params.slot_parts; i++) {
    own.part[i] = q[at[i / 8u] + i % (SLICES * 8u)] * scale;
  }
  var sum = Slots();
  var softmax = Softmax(array(MASKED, MASKED, MASKED, MASKED), array(0f, 0f, 0f, 0f));
  for (var key = rows.x; key < rows.y; key += 4u) {
    let source = head0 + min(key + lane % 4u, rows.y - 1u) * stride + lane / 4u * 4u;
    let keys = key + vec4u(0u, 1u, 2u, 3u);
    var tile = Tile();
    load_key(0u, source, &tile);
    load_key(1u, source, &tile);
    load_key(2u, source, &tile);
    load_key(3u, source, &tile);
    var s = score(&own, &tile);
    weights(0u, keys < vec4u(ends.x), &s, &softmax, &sum);
    weights(1u, keys < vec4u(ends[SLICES % 4u]), &s, &softmax, &sum);
    weights(2u, keys < vec4u(ends[2u * SLICES % 4u]), &s, &softmax, &sum);
    weights(3u, keys < vec4u(ends[3u * SLICES % 4u]), &s, &softmax, &sum);
    load_value(0u, source, &tile);
    load_value(1u, source, &tile);
    load_value(2u, source, &tile);
    load_value(3u, source, &tile);
    weigh(&s, &tile, &sum);
  }
  var result = sum;
  for (var step = 0u; step < params.num_steps; step++) {
    let of_step = row + (1u + step) * params.num_rows;
    let suffix = head0 + stride * vec4u(
      row_keys[of_step.x], row_keys[of_step.y], row_keys[of_step.z], row_keys[of_step.w]);
    var scores = array<f32, 4>();
    for (var i = 0u; i < params.slot_parts; i++) {
      scores[i / (SLICES * 8u)] += dot(own.part[i], suffix_k[suffix[i / 8u] + i % (SLICES * 8u)]);
    }
    var shrink = array<f32, 4>();
    var weight = array<f32, 4>();
    for (var n = 0u; n < params.slot_parts / (SLICES * 8u); n++) {
      let largest = max(softmax.largest[n], scores[n]);
      shrink[n] = exp2(softmax.largest[n] - largest);
      weight[n] = exp2(scores[n] - largest);
      softmax.largest[n] = largest;
      softmax.sum[n] = fma(softmax.sum[n], shrink[n], weight[n]);
    }
    for (var i = 0u; i < params.slot_parts; i++) {
      let n = i / (SLICES * 8u);
      let value = suffix_v[suffix[i / 8u] + i % (SLICES * 8u)];
      result.part[i] = fma(vec4f(weight[n]), value, result.part[i] * shrink[n]);
    }
  }
  for (var i = 0u; i < params.slot_parts; i++) {
    if (wanted[i / 8u] < rows.w) {
      out[at[i / 8u] + i % (SLICES * 8u)] = result.part[i] / softmax.sum[i / (SLICES * 8u)];
    }
  }
}
`;var Ww=`// out[r] = sum_j p[r, j] v[j], p[r, :] = softmax(q[r] . k[j] / sqrt(D)) for each head, where row r attends to the keys of
// its prompt up to a key of its own (the prompt's keys are stored once) and to those of its own suffix so far.
// Source: as attention_forward_tiled.wgsl; the shared prefix as in Juravsky et al., Hydragen: High-Throughput LLM
// Inference with Shared Prefixes, 2024. For any adapter; slices and tiles of the prompt's keys are in
// attention_slices_tiled.wgsl, a row's own keys are processed one by one.
// Bindings: q (N, H, D) read; k, v (P, H, D) read; suffix_k, suffix_v (M, H, D) read: keys that rows
//   appended; row_keys (1 + S, N) read: the end of the prompt's keys for each row, excluded, then the index of the row's
//   own key at each step, the newest last; tiles (x) read: rows of one prompt as (first key, end of the keys of all its
//   rows, first row, end of the rows), the ends excluded; out (N, H, D) write.
// Grid: x = tiles, y = H; 64 threads a tile; a tile without rows is skipped.
// Numerics: f32, exponentials of base 2, keys ascending, running maximum subtracted.
// Limits: D is 32, 64 or 128; a tile has at most 2048 / D rows and each row sees at least one of its keys; S >= num_steps.
struct Params { num_rows: u32, num_heads: u32, num_steps: u32, slice_parts: u32, tile_rows: u32 }

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<storage, read> suffix_k: array<vec4f>;
@group(0) @binding(4) var<storage, read> suffix_v: array<vec4f>;
@group(0) @binding(5) var<storage, read> row_keys: array<u32>;
@group(0) @binding(6) var<storage, read> tiles: array<vec4u>;
@group(0) @binding(7) var<storage, read_write> out: array<vec4f>;
@group(0) @binding(8) var<uniform> params: Params;

const LOG2_E = 1.4426950408889634f;
// Below every score, and finite, so that the difference of two is not NaN.
const MASKED = -1e30f;

fn load_tile(first_key: u32, end_key: u32, head0: u32, thread: u32) {
  for (var i = thread; i < TILE_PARTS; i += THREADS) {
    let key = min(first_key + i / (HEAD_DIM / 4u), end_key - 1u);
    let at = head0 + key * params.num_heads * (HEAD_DIM / 4u) + i % (HEAD_DIM / 4u);
    tile[i] = k[at];
    tile[TILE_PARTS + i] = v[at];
  }
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32) {
  let rows = tiles[group.x];
  if (rows.z >= rows.w) { return; }
  let stride = params.num_heads * (HEAD_DIM / 4u);
  let head0 = group.y * (HEAD_DIM / 4u);
  let slice = thread % SLICES * 8u;
  let wanted = rows.z + thread / SLICES;
  // Past the tile's end the last row again, which is not stored.
  let row = min(wanted, rows.w - 1u);
  let end_key = row_keys[row];
  let at = head0 + row * stride + slice;
  let scale = LOG2_E * inverseSqrt(f32(HEAD_DIM));
  var query = Slice();
  for (var i = 0u; i < params.slice_parts; i++) { query.part[i] = q[at + i] * scale; }
  var largest = MASKED;
  var sum = 0f;
  var weighted = Slice();
  for (var key = rows.x; key < rows.y; key += params.tile_rows) {
    workgroupBarrier();
    load_tile(key, rows.y, head0, thread);
    workgroupBarrier();
    for (var j = 0u; j < params.tile_rows; j++) {
      first_dots[j * THREADS + thread] = dot_slice(&query, j * (HEAD_DIM / 4u) + slice);
    }
    workgroupBarrier();
    var new_largest = largest;
    for (var j = 0u; j < params.tile_rows; j++) {
      new_largest = max(new_largest, select(MASKED, first_dot(j, thread), key + j < end_key));
    }
    let shrink = exp2(largest - new_largest);
    largest = new_largest;
    sum *= shrink;
    for (var i = 0u; i < params.slice_parts; i++) { weighted.part[i] *= shrink; }
    for (var j = 0u; j < params.tile_rows; j++) {
      let weight = select(0f, exp2(first_dot(j, thread) - largest), key + j < end_key);
      sum += weight;
      add_slice(&weighted, weight, TILE_PARTS + j * (HEAD_DIM / 4u) + slice);
    }
  }
  for (var step = 0u; step < params.num_steps; step++) {
    let suffix = head0 + row_keys[(1u + step) * params.num_rows + row] * stride + slice;
    var part = 0f;
    for (var i = 0u; i < params.slice_parts; i++) { part += dot(query.part[i], suffix_k[suffix + i]); }
    workgroupBarrier();
    first_dots[thread] = part;
    workgroupBarrier();
    let score = first_dot(0u, thread);
    let new_largest = max(largest, score);
    let shrink = exp2(largest - new_largest);
    let weight = exp2(score - new_largest);
    largest = new_largest;
    sum = fma(sum, shrink, weight);
    for (var i = 0u; i < params.slice_parts; i++) {
      weighted.part[i] = fma(vec4f(weight), suffix_v[suffix + i], weighted.part[i] * shrink);
    }
  }
  if (wanted >= rows.w) { return; }
  for (var i = 0u; i < params.slice_parts; i++) { out[at + i] = weighted.part[i] / sum; }
}
`;var Yw=`// out[t] = sum_j p[t, j] v[j], p[t, :] = softmax(q[t] . k[j] / sqrt(D)) over segment_start[t] <= j <= t, for each head;
// log_sum_exp[t] = log of the softmax's denominator, for the backward pass. Nothing of size T x T is stored.
// Source: Dao et al., FlashAttention, NeurIPS 2022, algorithm 1; Milakov and Gimelshein, Online normalizer calculation
// for softmax, 2018. For adapters whose subgroups have exactly 8 lanes (lavapipe): each lane owns whole queries, so the
// softmax needs no exchange between lanes; slots, tiles and their products are in attention_slots_subgroup8.wgsl, the
// softmax in attention_softmax_subgroup8.wgsl.
// Bindings: q, k, v (B, T, H, D) read; segment_start (B, T) read; out (B, T, H, D) write; log_sum_exp (B, T, H) write.
// Grid: x = ceil(T * D / 1024) query tiles, y = H, z = B; one subgroup a tile; query n of lane l is 8 n + l
//   of the tile.
// Numerics: f32, exponentials of base 2, keys ascending, running maximum subtracted.
// Limits: D is 32, 64 or 128; segment_start must not decrease along t; B, H <= 65535.
struct Params { sequence_length: u32, num_heads: u32, slot_parts: u32 }

override QUERIES: u32 = 32u / SLICES;

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<storage, read> segment_start: array<u32>;
@group(0) @binding(4) var<storage, read_write> out: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> log_sum_exp: array<f32>;
@group(0) @binding(6) var<uniform> params: Params;

const LN_2 = 0.6931471805599453f;

// For each of the 4 keys from first_key on, whether the query at t of a segment sees it.
fn visible(first_key: u32, start: u32, t: u32) -> vec4<bool> {
  let keys = first_key + vec4u(0u, 1u, 2u, 3u);
  return (keys >= vec4u(start)) & (keys <= vec4u(t));
}

@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32) {
  let length = params.sequence_length;
  let first = group.x * QUERIES;
  let row0 = group.z * length;
  let head0 = (row0 * params.num_heads + group.y) * (HEAD_DIM / 4u);
  let stride = params.num_heads * (HEAD_DIM / 4u);
  // The query of each slot; past the sequence's end the last one again, which is not stored.
  let wanted = first + lane + 8u * (vec4u(0u, 1u, 2u, 3u) / SLICES);
  let t = min(wanted, vec4u(length - 1u));
  let starts = vec4u(segment_start[row0 + t.x], segment_start[row0 + t.y], segment_start[row0 + t.z],
    segment_start[row0 + t.w]);
  let at = head0 + t * stride;
  let scale = LOG2_E * inverseSqrt(f32(HEAD_DIM));
  var own = Slots();
  for (var i = 0u; i < params.slot_parts; i++) {
    own.part[i] = q[at[i / 8u] + i % (SLICES * 8u)] * scale;
  }
  var sum = Slots();
  var softmax = Softmax(array(MASKED, MASKED, MASKED, MASKED), array(0f, 0f, 0f, 0f));
  let last = min(first + QUERIES, length) - 1u;
  for (var key = segment_start[row0 + first] / 4u * 4u; key <= last; key += 4u) {
    let source = head0 + min(key + lane % 4u, length - 1u) * stride + lane / 4u * 4u;
    var tile = Tile();
    load_key(0u, source, &tile);
    load_key(1u, source, &tile);
    load_key(2u, source, &tile);
    load_key(3u, source, &tile);
    var s = score(&own, &tile);
    weights(0u, visible(key, starts.x, t.x), &s, &softmax, &sum);
    weights(1u, visible(key, starts[SLICES % 4u], t[SLICES % 4u]), &s, &softmax, &sum);
    weights(2u, visible(key, starts[2u * SLICES % 4u], t[2u * SLICES % 4u]), &s, &softmax, &sum);
    weights(3u, visible(key, starts[3u * SLICES % 4u], t[3u * SLICES % 4u]), &s, &softmax, &sum);
    load_value(0u, source, &tile);
    load_value(1u, source, &tile);
    load_value(2u, source, &tile);
    load_value(3u, source, &tile);
    weigh(&s, &tile, &sum);
  }
  var result = sum;
  for (var i = 0u; i < params.slot_parts; i++) {
    if (wanted[i / 8u] < length) {
      out[at[i / 8u] + i % (SLICES * 8u)] = result.part[i] / softmax.sum[i / (SLICES * 8u)];
    }
  }
  let rows = (row0 + t) * params.num_heads + group.y;
  let largest = vec4f(softmax.largest[0], softmax.largest[1u / SLICES], softmax.largest[2u / SLICES],
    softmax.largest[3u / SLICES]);
  let sums = vec4f(softmax.sum[0], softmax.sum[1u / SLICES], softmax.sum[2u / SLICES], softmax.sum[3u / SLICES]);
  let logs = (largest + log2(sums)) * LN_2;
  if (wanted.x < length) { log_sum_exp[rows.x] = logs.x; }
  if (wanted.y < length) { log_sum_exp[rows.y] = logs.y; }
  if (wanted.z < length) { log_sum_exp[rows.z] = logs.z; }
  if (wanted.w < length) { log_sum_exp[rows.w] = logs.w; }
}
`;var Jw=`// out[t] = sum_j p[t, j] v[j], p[t, :] = softmax(q[t] . k[j] / sqrt(D)) over segment_start[t] <= j <= t, for each head;
// log_sum_exp[t] = log of the softmax's denominator, for the backward pass. Nothing of size T x T is stored.
// Source: Dao et al., FlashAttention, NeurIPS 2022, algorithm 1. For any adapter; slices and tiles are in
// attention_slices_tiled.wgsl.
// Bindings: q, k, v (B, T, H, D) read; segment_start (B, T) read; out (B, T, H, D) write; log_sum_exp (B, T, H) write.
// Grid: x = ceil(T * D / 2048) query tiles, y = H, z = B; 64 threads a tile.
// Numerics: f32, exponentials of base 2, keys ascending, running maximum subtracted.
// Limits: D is 32, 64 or 128; segment_start must not decrease along t; B, H <= 65535.
struct Params { sequence_length: u32, num_heads: u32, slice_parts: u32, tile_rows: u32 }

override QUERIES: u32 = THREADS / SLICES;

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<storage, read> segment_start: array<u32>;
@group(0) @binding(4) var<storage, read_write> out: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> log_sum_exp: array<f32>;
@group(0) @binding(6) var<uniform> params: Params;

const LOG2_E = 1.4426950408889634f;
const LN_2 = 0.6931471805599453f;
// Below every score, and finite, so that the difference of two is not NaN.
const MASKED = -1e30f;

fn load_tile(first_key: u32, head0: u32, stride: u32, thread: u32) {
  for (var i = thread; i < TILE_PARTS; i += THREADS) {
    let row = min(first_key + i / (HEAD_DIM / 4u), params.sequence_length - 1u);
    let at = head0 + row * stride + i % (HEAD_DIM / 4u);
    tile[i] = k[at];
    tile[TILE_PARTS + i] = v[at];
  }
}

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) thread: u32) {
  let length = params.sequence_length;
  let first = group.x * QUERIES;
  let wanted = first + thread / SLICES;
  // Past the sequence's end the last query again, which is not stored.
  let t = min(wanted, length - 1u);
  let row0 = group.z * length;
  let head0 = (row0 * params.num_heads + group.y) * (HEAD_DIM / 4u);
  let stride = params.num_heads * (HEAD_DIM / 4u);
  let slice = thread % SLICES * 8u;
  let at = head0 + t * stride + slice;
  let start = segment_start[row0 + t];
  let scale = LOG2_E * inverseSqrt(f32(HEAD_DIM));
  var query = Slice();
  for (var i = 0u; i < params.slice_parts; i++) { query.part[i] = q[at + i] * scale; }
  var largest = MASKED;
  var sum = 0f;
  var weighted = Slice();
  let last = min(first + QUERIES, length) - 1u;
  for (var key = segment_start[row0 + first]; key <= last; key += params.tile_rows) {
    workgroupBarrier();
    load_tile(key, head0, stride, thread);
    workgroupBarrier();
    for (var j = 0u; j < params.tile_rows; j++) {
      first_dots[j * THREADS + thread] = dot_slice(&query, j * (HEAD_DIM / 4u) + slice);
    }
    workgroupBarrier();
    var new_largest = largest;
    for (var j = 0u; j < params.tile_rows; j++) {
      let is_visible = key + j >= start && key + j <= t;
      new_largest = max(new_largest, select(MASKED, first_dot(j, thread), is_visible));
    }
    let shrink = exp2(largest - new_largest);
    largest = new_largest;
    sum *= shrink;
    for (var i = 0u; i < params.slice_parts; i++) { weighted.part[i] *= shrink; }
    for (var j = 0u; j < params.tile_rows; j++) {
      let is_visible = key + j >= start && key + j <= t;
      let weight = select(0f, exp2(first_dot(j, thread) - largest), is_visible);
      sum += weight;
      add_slice(&weighted, weight, TILE_PARTS + j * (HEAD_DIM / 4u) + slice);
    }
  }
  if (wanted >= length) { return; }
  for (var i = 0u; i < params.slice_parts; i++) { out[at + i] = weighted.part[i] / sum; }
  if (slice == 0u) { log_sum_exp[(row0 + t) * params.num_heads + group.y] = (largest + log2(sum)) * LN_2; }
}
`;var Xw=`// The shared part of the attention kernels for any adapter; lib/tensor/kernels.ts appends it to each of them.
// A workgroup has 64 threads; a thread owns a slice of 32 dims of one row (query, or key): thread i slice i % SLICES of row
// i / SLICES, where D = 32 SLICES. The other side is processed in tiles of 512 / D rows of two matrices (keys and
// values, or queries and the gradients of outputs) in workgroup memory, where the parts of dot products are also
// combined.
// Loops have bounds from params (slice_parts is always 8): otherwise Mesa would unroll them and compile for a minute.
// Limits: D is 32, 64 or 128; 12 KiB of workgroup memory.
override HEAD_DIM: u32 = 32u;
override SLICES: u32 = HEAD_DIM / 32u;

const THREADS = 64u;
const TILE_PARTS = 128u;

// 32 dims of a row.
struct Slice { part: array<vec4f, 8> }

// Matrix m, row r, dims 4 d to 4 d + 3 at TILE_PARTS m + r D / 4 + d.
var<workgroup> tile: array<vec4f, 256>;
// For row r of the tile and thread i, at 64 r + i: the dot product of its slices with those of the first matrix \u2026
var<workgroup> first_dots: array<f32, 1024>;
// \u2026 and with those of the second.
var<workgroup> second_dots: array<f32, 1024>;

// The slice's dot product with that of the tile that starts at tile[at].
fn dot_slice(x: ptr<function, Slice>, at: u32) -> f32 {
  let low = dot((*x).part[0], tile[at]) + dot((*x).part[1], tile[at + 1u]) + dot((*x).part[2], tile[at + 2u]) +
    dot((*x).part[3], tile[at + 3u]);
  let high = dot((*x).part[4], tile[at + 4u]) + dot((*x).part[5], tile[at + 5u]) + dot((*x).part[6], tile[at + 6u]) +
    dot((*x).part[7], tile[at + 7u]);
  return low + high;
}

// Adds weight times the slice of the tile that starts at tile[at].
fn add_slice(sum: ptr<function, Slice>, weight: f32, at: u32) {
  (*sum).part[0] = fma(vec4f(weight), tile[at], (*sum).part[0]);
  (*sum).part[1] = fma(vec4f(weight), tile[at + 1u], (*sum).part[1]);
  (*sum).part[2] = fma(vec4f(weight), tile[at + 2u], (*sum).part[2]);
  (*sum).part[3] = fma(vec4f(weight), tile[at + 3u], (*sum).part[3]);
  (*sum).part[4] = fma(vec4f(weight), tile[at + 4u], (*sum).part[4]);
  (*sum).part[5] = fma(vec4f(weight), tile[at + 5u], (*sum).part[5]);
  (*sum).part[6] = fma(vec4f(weight), tile[at + 6u], (*sum).part[6]);
  (*sum).part[7] = fma(vec4f(weight), tile[at + 7u], (*sum).part[7]);
}

// The dot product of whole rows: the thread's row and the tile's row \`row\` of the first matrix.
fn first_dot(row: u32, thread: u32) -> f32 {
  let at = row * THREADS + thread / SLICES * SLICES;
  var sum = first_dots[at];
  if (SLICES >= 2u) { sum += first_dots[at + 1u]; }
  if (SLICES >= 4u) { sum += first_dots[at + 2u] + first_dots[at + 3u]; }
  return sum;
}

fn second_dot(row: u32, thread: u32) -> f32 {
  let at = row * THREADS + thread / SLICES * SLICES;
  var sum = second_dots[at];
  if (SLICES >= 2u) { sum += second_dots[at + 1u]; }
  if (SLICES >= 4u) { sum += second_dots[at + 2u] + second_dots[at + 3u]; }
  return sum;
}
`;var Qw=`// The shared part of the attention kernels for subgroups of 8 lanes; lib/tensor/kernels.ts appends it to each of them.
// A lane owns whole rows (queries, or keys) in 4 slots of 32 dims: slot i is slice i % SLICES of row i / SLICES, so it
// owns 4, 2 or 1 rows of D = 32, 64 or 128. The other side is loaded in tiles of 4 rows, half a row per lane, and
// distributed by subgroupBroadcast, about as cheap on lavapipe as one vector fma, while a load costs 40. Everything is
// unrolled by hand: Mesa does not unroll loops of this size, and an array indexed by a variable is 10 times slower.
// Limits: D is 32, 64 or 128.
override HEAD_DIM: u32 = 32u;
override SLICES: u32 = HEAD_DIM / 32u;

// Four slots of 32 dims: vec4 d of slot i at 8 i + d.
struct Slots { part: array<vec4f, 32> }

// A tile of 4 rows: lane l holds of row l % 4 the first (l < 4) or second half of each slice of 32 dims.
struct Tile { slice: array<mat4x4f, 4> }

// For each of the lane's rows, a number for each of the tile's rows.
struct Scores { row: array<vec4f, 4> }

// Columns x, y, z, w of 4 lanes: 0 to 3 for the first half of a slice, 4 to 7 for the second.
fn spread(half: u32, x: vec4f) -> mat4x4f {
  if (half == 0u) {
    return transpose(mat4x4f(subgroupBroadcast(x, 0u), subgroupBroadcast(x, 1u), subgroupBroadcast(x, 2u),
      subgroupBroadcast(x, 3u)));
  }
  return transpose(mat4x4f(subgroupBroadcast(x, 4u), subgroupBroadcast(x, 5u), subgroupBroadcast(x, 6u),
    subgroupBroadcast(x, 7u)));
}

fn score_slot(slot: u32, half: u32, column: u32, own: ptr<function, Slots>, tile: ptr<function, Tile>,
              s: ptr<function, Scores>) {
  let x = (*own).part[slot * 8u + half * 4u + column];
  let y = spread(half, (*tile).slice[slot % SLICES][column]);
  let sum = (*s).row[slot / SLICES];
  (*s).row[slot / SLICES] =
    fma(vec4f(x.w), y[3], fma(vec4f(x.z), y[2], fma(vec4f(x.y), y[1], fma(vec4f(x.x), y[0], sum))));
}

fn score_column(half: u32, column: u32, own: ptr<function, Slots>, tile: ptr<function, Tile>,
                s: ptr<function, Scores>) {
  score_slot(0u, half, column, own, tile, s);
  score_slot(1u, half, column, own, tile, s);
  score_slot(2u, half, column, own, tile, s);
  score_slot(3u, half, column, own, tile, s);
}

// The dot product of each of the lane's rows with each of the tile's.
fn score(own: ptr<function, Slots>, tile: ptr<function, Tile>) -> Scores {
  var s = Scores();
  score_column(0u, 0u, own, tile, &s);
  score_column(0u, 1u, own, tile, &s);
  score_column(0u, 2u, own, tile, &s);
  score_column(0u, 3u, own, tile, &s);
  score_column(1u, 0u, own, tile, &s);
  score_column(1u, 1u, own, tile, &s);
  score_column(1u, 2u, own, tile, &s);
  score_column(1u, 3u, own, tile, &s);
  return s;
}

fn weigh_slot(slot: u32, half: u32, column: u32, s: ptr<function, Scores>, tile: ptr<function, Tile>,
              sum: ptr<function, Slots>) {
  let weight = (*s).row[slot / SLICES];
  let y = transpose(spread(half, (*tile).slice[slot % SLICES][column]));
  let x = (*sum).part[slot * 8u + half * 4u + column];
  (*sum).part[slot * 8u + half * 4u + column] = fma(vec4f(weight.w), y[3],
    fma(vec4f(weight.z), y[2], fma(vec4f(weight.y), y[1], fma(vec4f(weight.x), y[0], x))));
}

fn weigh_column(half: u32, column: u32, s: ptr<function, Scores>, tile: ptr<function, Tile>,
                sum: ptr<function, Slots>) {
  weigh_slot(0u, half, column, s, tile, sum);
  weigh_slot(1u, half, column, s, tile, sum);
  weigh_slot(2u, half, column, s, tile, sum);
  weigh_slot(3u, half, column, s, tile, sum);
}

// Adds the tile's rows, weighted by s, to each of the lane's rows.
fn weigh(s: ptr<function, Scores>, tile: ptr<function, Tile>, sum: ptr<function, Slots>) {
  weigh_column(0u, 0u, s, tile, sum);
  weigh_column(0u, 1u, s, tile, sum);
  weigh_column(0u, 2u, s, tile, sum);
  weigh_column(0u, 3u, s, tile, sum);
  weigh_column(1u, 0u, s, tile, sum);
  weigh_column(1u, 1u, s, tile, sum);
  weigh_column(1u, 2u, s, tile, sum);
  weigh_column(1u, 3u, s, tile, sum);
}
`;var e_=`// The shared part of the forward attention kernels for subgroups of 8 lanes, besides attention_slots_subgroup8.wgsl:
// loads of tiles of the bindings k and v, and the running softmax of a lane's rows; lib/tensor/kernels.ts appends it to
// each of them.
// Source: Milakov and Gimelshein, Online normalizer calculation for softmax, 2018.
// Limits: D is 32, 64 or 128.
const LOG2_E = 1.4426950408889634f;
// Below every score, and finite, so that the difference of two is not NaN.
const MASKED = -1e30f;

// For each of the lane's rows: the largest score so far, the sum of 2^(score - largest).
struct Softmax { largest: array<f32, 4>, sum: array<f32, 4> }

fn load_k(at: u32) -> mat4x4f { return mat4x4f(k[at], k[at + 1u], k[at + 2u], k[at + 3u]); }
fn load_v(at: u32) -> mat4x4f { return mat4x4f(v[at], v[at + 1u], v[at + 2u], v[at + 3u]); }

fn load_key(slice: u32, at: u32, tile: ptr<function, Tile>) {
  if (slice < SLICES) { (*tile).slice[slice] = load_k(at + slice * 8u); }
}

fn load_value(slice: u32, at: u32, tile: ptr<function, Tile>) {
  if (slice < SLICES) { (*tile).slice[slice] = load_v(at + slice * 8u); }
}

fn scale_slot(slot: u32, factor: f32, sum: ptr<function, Slots>) {
  (*sum).part[slot * 8u] *= factor;
  (*sum).part[slot * 8u + 1u] *= factor;
  (*sum).part[slot * 8u + 2u] *= factor;
  (*sum).part[slot * 8u + 3u] *= factor;
  (*sum).part[slot * 8u + 4u] *= factor;
  (*sum).part[slot * 8u + 5u] *= factor;
  (*sum).part[slot * 8u + 6u] *= factor;
  (*sum).part[slot * 8u + 7u] *= factor;
}

// Turns the scores of the lane's row n into weights, 0 where a key is not visible, and the sums so far to the new largest
// score.
fn weights(n: u32, visible: vec4<bool>, s: ptr<function, Scores>, softmax: ptr<function, Softmax>,
           sum: ptr<function, Slots>) {
  if (n * SLICES >= 4u) { return; }
  let scores = select(vec4f(MASKED), (*s).row[n], visible);
  let largest = max((*softmax).largest[n], max(max(scores.x, scores.y), max(scores.z, scores.w)));
  let shrink = exp2((*softmax).largest[n] - largest);
  let weight = select(vec4f(0f), exp2(scores - largest), visible);
  (*softmax).largest[n] = largest;
  (*softmax).sum[n] = fma((*softmax).sum[n], shrink, (weight.x + weight.y) + (weight.z + weight.w));
  (*s).row[n] = weight;
  scale_slot(n * SLICES, shrink, sum);
  if (SLICES >= 2u) { scale_slot(n * SLICES + 1u, shrink, sum); }
  if (SLICES >= 4u) {
    scale_slot(n * SLICES + 2u, shrink, sum);
    scale_slot(n * SLICES + 3u, shrink, sum);
  }
}
`;var o_=Qe("lanes_subgroup",xw),n_=Qe("lanes_workgroup",yw),t_=Qe("gemm_epilogue",vw),Ks=Qe("attention_slices_tiled",Xw),Gs=Qe("attention_slots_subgroup8",Qw),r_=Qe("attention_softmax_subgroup8",e_),s_={cross_entropy:Nw,log_probabilities:Cw,qk_norm_rope_backward:Dw,qk_norm_rope_forward:Bw,rms_norm_forward:bw,adamw:Sw,adamw_rows:kw,add_rows:Ew,clip_factor:Aw,copy:Tw,embedding_backward:zw,embedding_forward:Ow,gemm_subgroup8:t_+Qe("gemm_subgroup8",Mw),gemm_tiled:t_+Qe("gemm_tiled",$w),limit_rows:Lw,muon_momentum:Pw,muon_factors:Iw,muon_scale:Rw,reduce_partials:qw,shift_keys:Uw,sum_splits:Zw,rms_norm_backward:Fw,attention_backward_key_subgroup8:jw+Gs,attention_backward_key_tiled:Hw+Ks,attention_backward_query_subgroup8:Kw+Gs,attention_backward_query_tiled:Gw+Ks,attention_decode_subgroup8:Vw+Gs+r_,attention_decode_tiled:Ww+Ks,attention_forward_subgroup8:Yw+Gs+r_,attention_forward_tiled:Jw+Ks};var xE=`
fn unpack_half(x: vec2u) -> vec4f {
  return vec4f(unpack2x16float(x.x), unpack2x16float(x.y));
}

fn pack_half(x: vec4f) -> vec2u {
  let kept = clamp(x, vec4f(-65504f), vec4f(65504f));
  // By bits, since WGSL may assume that there is no NaN. With all bits of the exponent set, 65504 is a NaN.
  let is_beyond = (bitcast<vec4u>(x) & vec4u(0x7fffffffu)) > vec4u(bitcast<u32>(65504f));
  let exponent = select(vec4u(0u), vec4u(0x7c00u, 0x7c000000u, 0x7c00u, 0x7c000000u), is_beyond);
  return vec2u(pack2x16float(kept.xy) | exponent.x | exponent.y, pack2x16float(kept.zw) | exponent.z | exponent.w);
}
`;function yE(t,e,r){return r.length===0?e:r.reduce((n,s)=>a_(t,bE(t,n,s),s),ru(e))+xE}function bE(t,e,r){let o=new RegExp(`(var<storage[^>]*>\\s*${r}\\s*:\\s*)array<vec4f>`);if(!o.test(e))throw new q(t,`${r} is not an array of vec4f and cannot be bound to an f16 tensor`);return e.replace(o,"$1array<vec2u>")}function a_(t,e,r,o=""){let n="",s=0;for(let i of e.matchAll(new RegExp(`(?<![\\w.])${r}\\b(?!\\s*:\\s*array<vec2u>)`,"g"))){if(i.index<s)continue;let a=i.index+r.length;if(e[a]!=="["){let f=o+e.slice(0,a),d=`${r} is used in another way than ${r}[i] and cannot be f16`;throw ou(t,f,f.split(`
`).length,d)}let c=i_(e,a+1,"]"),u=e.slice(i.index,c+1),l=/^\s*([-+*/]?)=(?!=)\s*/.exec(e.slice(c+1));if(n+=e.slice(s,i.index),l){let[f,d]=l,p=c+1+f.length;s=i_(e,p,";");let h=a_(t,e.slice(p,s),r,o+e.slice(0,p)),g=d?`unpack_half(${u}) ${d} (${h})`:h;n+=`${u} = pack_half(${g})`}else s=c+1,n+=`unpack_half(${u})`}return n+e.slice(s)}function i_(t,e,r){let o=0;for(let n=e;n<t.length;n++){if(o===0&&t[n]===r)return n;"([{".includes(t[n])&&o++,")]}".includes(t[n])&&o--}return t.length}var vE=64,Vs=class{gpu;#e;#t;#r;#o;constructor(e,r={}){this.gpu=e,this.#e=new Map,this.#t=[],this.#o=new Map(Object.entries({...s_,...r.sources}))}get lanes(){return this.gpu.info.subgroupSize??vE}get unusedOutput(){return this.#r??=this.gpu.tensor("unused output",[4])}get numPipelines(){return this.#e.size}get(e,r={},o=[]){let n=`${e} ${JSON.stringify([Object.entries(r).sort(),[...o].sort()])}`,s=this.#e.get(n);return s||(s=this.#n(e,r,o),this.#e.set(n,s)),s}source(e){let r=this.#o.get(e);if(r===void 0)throw new q(e,"it is unknown; register it in lib/tensor/kernels.ts");return r}async ready(){await Promise.all(this.#t.splice(0)),this.gpu.check()}#n(e,r,o){let n=this.source(e),s=_w(e,n);for(let d of Object.keys(r))if(!s.overrides.includes(d))throw new q(e,`override ${d} is unknown`);if(s.usesSubgroups&&this.gpu.info.subgroupSize===void 0)throw new q(e,"it needs subgroups, which the adapter does not have; use its fallback kernel");let{device:i}=this.gpu,a=this.#s(s)+Qe(e,yE(e,n,o));i.pushErrorScope("validation");let c=i.createShaderModule({label:e,code:a}),u=i.createBindGroupLayout({label:e,entries:s.bindings.map(({index:d,access:p})=>({binding:d,visibility:GPUShaderStage.COMPUTE,buffer:{type:p==="uniform"?"uniform":p==="read"?"read-only-storage":"storage"}}))}),l=i.createComputePipeline({label:e,layout:i.createPipelineLayout({bindGroupLayouts:[u]}),compute:{module:c,entryPoint:"main",constants:r}}),f=i.popErrorScope();return this.#t.push(SE(e,c,f,a)),{name:e,interface:s,pipeline:l,layout:u}}#s({usesLanes:e,usesSubgroups:r}){let{subgroupSize:o,enablesSubgroups:n}=this.gpu.info,s=n&&(e||r)?`enable subgroups;
`:"";return e?`${s}const LANES = ${this.lanes}u;
${o?o_:n_}`:s}};async function SE(t,e,r,o){let s=(await e.getCompilationInfo()).messages.find(a=>a.type==="error");if(s)throw ou(t,o,s.lineNum,s.message);let i=await r;if(i)throw new q(t,i.message)}var Et=te.length,su=8,iu=.03,Ut=1023,kE=1e-11,kt=Float64Array.from({length:Et+1},(t,e)=>e<Et?Math.log(Gt(te[e]).lowMs):1/0),et=Uint32Array.from({length:Ut+(Et-Ut)/su+1},(t,e)=>e<Ut?e:Ut+(e-Ut)*su),Br=Float64Array.from(et,t=>kt[t]);function tt(t){let e=t>>11;return e===0?t-1:2047+(e-1)*1024+(t&1023)}var EE=Float64Array.from(te,t=>{let{lowMs:e,highMs:r}=Gt(t);return Math.log((e+Math.min(r,2*e||r))/2)});function Ur(t){return EE[tt(t)]}var en=class{#e;#t;#r;#o;#n;constructor(e,r,o=0){[this.#t,this.#r]=r;let[n,s]=[kt[this.#t],kt[this.#r]];this.#e=e.map(({log:c,...u})=>({...u,log:Math.min(s,Math.max(n,c))})),this.#o=o;let i=0,a=0;for(let c of this.#e)i+=c.mass,a+=c.mass*(au(this.#t,c)+AE(this.#r,c));this.#n=i>0?1-a/i:1}massBetween(e,r){let o=Math.max(e,this.#t),n=Math.min(r,this.#r);if(o>=n)return 0;let s=this.#o*(n-o)/(this.#r-this.#t);return this.#e.length===0?s:s+(n===o+1?this.#a(o):this.#i(n)-this.#i(o))/this.#n}addTo(e,r,o=0){let n=[this.#t,this.#r];nu.fill(0);for(let[i,a]of this.#s())i>=iu?c_(nu,zE,{width:i,kernels:a}):c_(e,TE,{width:i,kernels:a,factor:r/this.#n,range:n});let s=o+r*this.#o/(this.#r-this.#t);for(let i=0;i<this.#t;i++)e[i]+=o;for(let i=this.#r;i<e.length;i++)e[i]+=o;for(let i=cu(this.#t),a=this.#t;a<this.#r;i++){let c=s+nu[i]*r/this.#n/(et[i+1]-et[i]);for(let u=Math.min(this.#r,et[i+1]);a<u;a++)e[a]+=c}}#s(){let e=new Map;for(let r of this.#e)zr(e,r.width,()=>[]).push(r);return e}#a(e){let r=cu(e),o=0;for(let{log:n,width:s,mass:i}of this.#e)o+=s>=iu?i*Qo(Br[r],Br[r+1],n,s)/(et[r+1]-et[r]):i*Qo(kt[e],kt[e+1],n,s);return o}#i(e){let r=0;for(let o of this.#e)r+=o.mass*au(e,o);return r}};function au(t,{log:e,width:r}){if((e-kt[t])/r>u_)return 0;if(r<iu)return Qo(-1/0,kt[t],e,r);let o=cu(t),n=(t-et[o])/(et[o+1]-et[o]);return Qo(-1/0,Br[o],e,r)+(n>0?n*Qo(Br[o],Br[o+1],e,r):0)}function AE(t,{log:e,width:r}){return(kt[t]-e)/r>u_?0:1-au(t,{log:e,width:r})}var u_=31;function cu(t){return Math.min(et.length-2,t<Ut?t:Ut+Math.floor((t-Ut)/su))}function Qo(t,e,r,o){let n=s=>.5*Math.exp(-s/o);return t>=r?n(t-r)-n(e-r):e<=r?n(r-e)-n(r-t):1-n(r-t)-n(e-r)}var TE={edges:kt,falls:new Map},zE={edges:Br,falls:new Map},nu=new Float64Array(et.length-1);function c_(t,{edges:e,falls:r},{width:o,kernels:n,factor:s=1,range:[i,a]=[0,t.length]}){let c=zr(r,o,()=>Float64Array.from({length:e.length-1},(d,p)=>Math.exp((e[p]-e[p+1])/o)));n.sort((d,p)=>d.log-p.log);let u=n.map(({log:d})=>Te(e.length,p=>e[p]>d)-1),l=kE*s*n.reduce((d,{mass:p})=>d+p,0),f=0;for(let d=u[0],p=0;d<a;){let h=f*c[d],g=f-h;for(;u[p]===d;p++){let w=s*n[p].mass,_=.5*w*Math.exp((n[p].log-e[d+1])/o);g+=w-_-.5*w*Math.exp((e[d]-n[p].log)/o),h+=_}d>=i&&(t[d]+=g),f=h;let m=p<u.length?Math.min(a,u[p]):a;for(d++;d<m&&f>=l;d++){let w=f*c[d];d>=i&&(t[d]+=f-w),f=w}f<l&&(f=0),d=m}f=0;for(let d=u.length-1,p=u[d];p>=i;){let h=f*c[p];for(p<a&&(t[p]+=f-h);u[d]===p;d--)h+=.5*s*n[d].mass*Math.exp((e[p]-n[d].log)/o);f=h;let g=d>=0?Math.max(i-1,u[d]):i-1;for(p--;p>g&&f>=l;p--){let m=f*c[p];p<a&&(t[p]+=f-m),f=m}f<l&&(f=0),p=g}}function l_(t){return 2**(Math.round(2*Math.log2(t))/2)}var fu=24,d_=[t=>.75**t,()=>1],uu=[-10,-8,-6].map(t=>2**t),p_=[1,5,fu],lu=[-12,-10,-8,-6,-4,-2].map(t=>2**t),h_=[.25,1,4].map(t=>t/Math.LN2),OE=2**-9,ME=1,f_=2**-3.5,$E=2**-1,m_=1,g_=m_+d_.length*uu.length,w_=g_+p_.length*lu.length,PE=w_+h_.length,tn=PE+5,lt=tn+1;function du(t,e){let{ofPair:r,estimate:o,ofAll:n}=t,s=[],i=(l,f,d)=>{d>0&&s.push({log:l,width:f,mass:d})},a=r.map(({log:l})=>l);if(a.length>0){let l=d_.map(f=>NE(a.length,f));uu.forEach((f,d)=>a.forEach((p,h)=>i(p,f,l.reduce((g,m,w)=>g+m[h]*e[m_+w*uu.length+d],0)))),p_.forEach((f,d)=>{let p=Zs(a.slice(0,f),.5);lu.forEach((h,g)=>i(p,h,e[g_+d*lu.length+g]))})}let c=w_,u=(l,f)=>{let d=l.length>0?l:n;for(let p of d)i(p,f,e[c]/d.length);c++};for(let l of h_){let f=Math.min(ME,Math.max(OE,l*(o?.error??0)));u(o?[Math.log(o.rttMs)]:[],l_(o?f:f_))}for(let l of[t.ofSource,t.ofDestination,t.inContext,n])u(l,f_);return u(n,$E),s}var __=[2,4,8],pu=[.003,.015,.08],Ys=[5400,21600,172800],hu=[1,5],x_=(__.length+1)*(pu.length+1)*(Ys.length+2),rn=x_+4*(hu.length+1);function mu({ofPair:t,knowsSource:e,knowsDestination:r,inContext:o}){if(t.length===0){let c=(e?2:0)+(r?1:0);return RE(c,Ws(hu,o.length))}let n=t.map(({log:c})=>c).sort((c,u)=>c-u),s=n[Math.floor((3*n.length-1)/4)]-n[Math.floor(n.length/4)],{gapS:i}=t[0],a=i===null?Ys.length+1:Ws(Ys,i);return IE(Ws(__,t.length),Ws(pu,s),a)}function IE(t,e,r){return{number:(t*(pu.length+1)+e)*(Ys.length+2)+r,groups:["pair",`count ${t}`,`count ${t} spread ${e}`]}}function RE(t,e){return{number:x_+t*(hu.length+1)+e,groups:["unknown",`ends ${t}`]}}function Ws(t,e){return t.filter(r=>e>=r).length}function NE(t,e){let r=Array.from({length:t},(n,s)=>e(s)),o=r.reduce((n,s)=>n+s,0);return r.map(n=>n/o)}var LE=[1,32,256],CE=[.01,.05,.25,.5,.75,.95,.99],DE=.5;function y_(t,e,r){let o=BE(t).map(([i,a])=>({masses:r(i,a),weight:1})),n=0,s=0;for(let i of CE){for(;s<e.length-1&&n+e[s]<i;)n+=e[s++];let a=r(0,s+1);o.push({masses:t<=s?a:a.map(c=>1-c),weight:DE})}return o}function BE(t){return LE.map(e=>{let r=Math.floor((t+1)/e)*e-1;return[Math.max(0,r),r+e]})}var Xs={weights:"pool.weights",range:"pool.range",pairs:"pool.pairs",rtts:"pool.rtts",ends:"pool.ends",usual:"pool.usual",all:"pool.all"},b_={weights:lt,range:4,pairs:5,rtts:2,ends:6,usual:1,all:1};var gu=1e-6,v_=2,Qs=class t{config;#e;#t;#r;#o;#n;#s;#a;#i;#c;#u;#l;#f;constructor(e,{weights:r,pool:o}){this.config=e,this.#e=o;let n=p=>L(o,Xs[p]),s=n("weights");if(s.length!==rn*lt)throw new K(`the pool has ${s.length} weights, expected ${rn*lt}; run train again with the same options, which fits it again`,{path:Xs.weights});this.#n=Float64Array.from(s);for(let p=0;p<rn;p++){let h=this.#n.subarray(p*lt,(p+1)*lt),g=h.reduce((m,w)=>m+w,0);h.forEach((m,w)=>h[w]=m/g)}let[i,a,c,u]=n("range");this.#s=[i,a],this.#a=c*Tr+u,this.#i=new ei(n("pairs"),b_.pairs),this.#c=n("rtts"),this.#u=new ei(n("ends"),b_.ends),this.#l=n("usual"),this.#f=Array.from(n("all"),Ur);let{prefixVectors:l,pairVectors:f,coordinates:d}=e;this.#o=l?.rows??0,this.#r=f?.history?r.get(Ct):void 0,!(!d&&!f)&&(this.#t=new ut({...e,pairVectors:f&&{...f,history:!1}}),this.#t.load(r))}withWeights(e){return new t(this.config,{weights:e,pool:this.#e})}forecast(e){let r=this.known(e),{number:o}=mu(r),n=this.#n.subarray(o*lt,(o+1)*lt),s=E_(r,this.#s),i=new en(du(r,n),s,n[tn]),a=1-gu;return{modelShare:a*n[0],end:s[1],massBetween:(c,u)=>a*i.massBetween(c,u)+gu*(u-c)/Et,addTo(c){i.addTo(c,a,gu/Et)}}}caseOf(e,r,o,n){let s=tt(o),i=this.known(e),a=g=>n?qE(g,Ur(o)):g,c={...i,ofSource:a(i.ofSource),ofDestination:a(i.ofDestination)},u=new Float64Array(lt),l=E_(c,this.#s),f=Array.from(u,(g,m)=>(u.fill(0),u[m]=1,new en(du(c,u),l,u[tn]))),d=r.slice();d.fill(0,l[1]);let p=d.reduce((g,m)=>g+m,0),h=(g,m)=>Float64Array.from(f,(w,_)=>_===0?d.subarray(g,m).reduce((S,E)=>S+E,0)/p:w.massBetween(g,m));return{kind:mu(c),events:y_(s,r,h)}}known({source:e,destination:r,timeS:o,context:n,recent:s}){let[i,a]=[e,r].map(UE),c=this.#d(e,r),u=this.#p({source:e,destination:r,timeS:o,context:n,recent:s},Mr(i,a,0)),[l,f]=[this.#m(i)[0],this.#m(a)[1]],[d,p]=[[l,e],[f,r]].map(([g,m])=>g.length>0||this.#h(m)),h=n.flatMap(g=>g.rttCode!==null&&Jt(g.source,e)&&!Jt(g.destination,r)?[Ur(g.rttCode)]:[]);return{ofPair:u,estimate:c,ofSource:l,ofDestination:f,knowsSource:d,knowsDestination:p,inContext:h,ofAll:this.#f}}#d(e,r){let o=this.#t;if(o?.coordinates)return o.coordinates.estimate(o.nodeOf(e),o.nodeOf(r))}#h(e){let r=this.#t;return r?.coordinates?.hasCoordinates(r.nodeOf(e))??!1}#p(e,r){let{source:o,destination:n,timeS:s,context:i,recent:a}=e,c=[],u=(p,h)=>{c.some(m=>m.rttCode===p&&h!==null&&Math.abs((m.timeS??1/0)-h)<=v_)||c.push({rttCode:p,timeS:h})};for(let p of(a??i).toReversed()){let h=Jt(p.source,o)&&Jt(p.destination,n)||Jt(p.source,n)&&Jt(p.destination,o);p.rttCode!==null&&h&&u(p.rttCode,p.timeS)}let l=this.#g(r),f=p=>!a||s===null||p===null||p<=s;for(let{rttCode:p,timeS:h}of l)f(h)&&u(p,h);if(!a){let p=l.reduce((h,{timeS:g})=>Math.max(h,g),-1/0);for(let{rttCode:h,timeS:g}of this.#w(o,n,p))u(h,g)}let d=p=>s===null||p===null?null:Math.abs(s-p);return c.map(({rttCode:p,timeS:h})=>({log:Ur(p),gapS:d(h)})).sort((p,h)=>(p.gapS??-1)-(h.gapS??-1)).slice(0,fu)}#g(e){let r=this.#i.find(e);if(r<0)return[];let o=this.#i.startOf(r,0);return Array.from({length:this.#i.countOf(r,0)},(n,s)=>{let i=2*(o+s);return{rttCode:this.#c[i],timeS:this.#a+this.#c[i+1]}})}#w(e,r,o){if(!this.#r||!this.#t)return[];let n=this.#t.rowOfPair(e,r);if(n===T)return[];let s=(n-this.#o)*Xe,i=this.#r.subarray(s,s+Xe),a=i.subarray(0,-2),c=i[a.length]*Tr+i[a.length+1];return c>0&&c<=o+v_?[]:[...a].reverse().filter(u=>u>0).map(u=>({rttCode:u,timeS:c>0?c:null}))}#m(e){let r=this.#u.find(e);if(r<0)return[[],[]];let o=n=>{let s=this.#u.startOf(r,n);return Array.from(this.#l.subarray(s,s+this.#u.countOf(r,n)),Ur)};return[o(0),o(1)]}},ei=class{#e;#t;#r;#o;constructor(e,r){this.#e=e,this.#t=r;let o=e.length/r;this.#r=Float64Array.from({length:o},(s,i)=>{let[a,c]=_c(e.subarray(i*r,i*r+Js));return S_({hash1:a,hash2:c})});let n=r-Js;this.#o=new Uint32Array(o*n+1);for(let s=0;s<o*n;s++)this.#o[s+1]=this.#o[s]+this.countOf(Math.floor(s/n),s%n)}find(e){let r=S_(e),o=Te(this.#r.length,n=>this.#r[n]>=r);return this.#r[o]===r?o:-1}countOf(e,r){return this.#e[e*this.#t+Js+r]}startOf(e,r){return this.#o[e*(this.#t-Js)+r]}},Js=4;function S_({hash1:t,hash2:e}){return t*2**21+(e>>>11)}function UE(t){let e=ws(0,t.length===4?4:16);for(let r of t)Or(e,r);return e}function ZE(t,e){let r=tt(we(Kt(t)/k_)),o=we(Kt(e)*k_)>>8;return[r,Te(Et,n=>te[n]>>8>o)]}var k_=4;function E_({ofPair:t,inContext:e},[r,o]){let n=[...t.map(({log:c})=>c),...e];if(n.length===0)return[r,o];let[s,i]=[Math.min(...n),Math.max(...n)].map(c=>we(Math.exp(c))),a=ZE(s,i);return[Math.min(r,a[0]),Math.max(o,a[1])]}function qE(t,e){let r=t.map(o=>Math.abs(o-e));return t.filter((o,n)=>n!==r.indexOf(Math.min(...r)))}function A_(t,e){return Lc[Go(t)]/e}function T_(t,e){let r=[];for(let o of t)for(let n=o.firstRow;n<o.endRow;){let s=r.at(-1),i=s?.firstKey===o.firstKey&&s.endRow-s.firstRow<e,a=i?s:{...o,firstRow:n};i&&r.pop();let c=Math.min(a.firstRow+e,o.endRow);r.push({...a,endKey:Math.max(a.endKey,o.endKey),endRow:c}),n=c}return r}function z_(t,e){let{q:r,promptK:o,promptV:n,suffixK:s,suffixV:i,rowKeys:a,tiles:c,out:u}=e,{numRows:l,numSteps:f,numHeads:d,headDim:p,numTiles:h}=e,g=Go(t.registry.gpu.info),m=`attention_decode_${g}`;Cc(m,p);let w=d*p;A(m,w,{promptK:o,promptV:n,suffixK:s,suffixV:i}),A(m,l*w,{q:r,out:u}),A(m,(1+f)*l,{rowKeys:a}),A(m,h*4,{tiles:c});let _={num_rows:l,num_heads:d,num_steps:f};t.add({kernel:m,overrides:{HEAD_DIM:p},bindings:{q:r,k:o,v:n,suffix_k:s,suffix_v:i,row_keys:a,tiles:c,out:u},params:g==="subgroup8"?{..._,slot_parts:32}:{..._,slice_parts:8,tile_rows:512/p},grid:[h,d]})}var FE=32;function Zt(t){let e=Math.max(FE,2**(Math.floor(Math.log2(Math.max(1,t)))-3));return Math.ceil(t/e)*e}function wu(t,e){return Yo(r=>ti(t,e,r))-Yo(r=>cr(t,r))}function _u(t,e,r){return wu(t,e)<=r.limitBytes&&Dr(o=>ti(t,e,o))<=r.bufferBytes}function ti(t,e,r){let{width:o,numHeads:n,headDim:s}=t,i=Zt(e.maxRows),a=Zt(e.maxPromptTokens),c=Math.max(i,a),u=Jg(t,{rows:c,training:!1},r),l=Array.from({length:t.numLayers},(f,d)=>Cr(r,`layer ${d} `));return{parameters:cr(t,r),inputs:{tokens:r("tokens",[c]),segmentStart:r("segmentStart",[a]),previous:t.keyShift?r("previous",[c]):void 0,embeddingRows:ze(t)>0?r("rows of tokens",[c,be(t)]):void 0},positions:r("positions",[c]),rotation:r("rotation",[c,s]),chosenRotation:r("chosen rotation",[c,s]),tiles:r("tiles",[i,4]),rowKeys:r("keys of rows",[1+e.maxSteps,i]),promptLayers:l.map(f=>({...u,kUnshifted:t.keyShift?f("prompt k unshifted",[a,n,s]):void 0,kRotated:f("prompt k",[a,n,s]),v:f("prompt v",[a,n,s])})),suffixes:l.map(f=>({k:f("suffix k",[e.maxSteps,i,n,s]),kUnshifted:t.keyShift?f("suffix k unshifted",[e.maxSteps,i,n,s]):void 0,v:f("suffix v",[e.maxSteps,i,n,s])})),head:{xLast:u.x,xLastNorm:r("xLastNorm",[c,o]),xLastScale:r("xLastScale",[c])},chosen:{positions:r("chosen positions",[c]),picked:r("chosen hidden states",[c,o]),logits:r("chosen logits",[c,ar(t)]),rowIndex:r("rows",[c]),logProbabilities:r("log-probabilities",[c,J(t)])}}}function O_(t,e){let{tensors:r,numWanted:o}=e,n=$_(t,e,r.promptLayers),s=o===void 0?{}:{wanted:jE(e,o)};Lr(t,{...n,...s})}function M_(t,e){let{config:r,tensors:o,rows:n,step:s,numTiles:i}=e,{promptLayers:a,suffixes:c,rowKeys:u}=o,{numHeads:l,headDim:f}=r,d=s*u.shape[1]*l*f*4,p=g=>({...g,shape:[n,l,f],offsetBytes:d}),h=a.map((g,m)=>({...g,kRotated:p(c[m].k),kUnshifted:c[m].kUnshifted&&p(c[m].kUnshifted),v:p(c[m].v)}));Lr(t,{...$_(t,e,h),earlierKeys:g=>{let m=(s===0?a:c)[g].kUnshifted;return b(m,"a model without keyShift has no keys before their shift"),m},addAttention:(g,m)=>P_(g,e,{layer:m,numRows:n,numTiles:i,numSteps:s+1})})}function $_(t,{config:e,tensors:r,rows:o},n){let{parameters:s,inputs:i,head:a,positions:c,rotation:u}=r,l=Wo(t,e);return er(t,{tokens:c,table:l,x:u,rows:o,width:e.headDim}),{config:e,extent:{batchSize:1,sequenceLength:o,training:!1},tensors:{operands:s,inputs:i,head:a,layers:n},rotation:u}}function jE(t,e){let{promptLayers:r,chosen:o,chosenRotation:n}=t.tensors,s=r.length-1;return{rows:e,index:o.positions,x:o.picked,xNorm:r[s].xMiddleNorm,rotation:n,addAttention:i=>P_(i,t,{layer:s,numRows:e,numTiles:e,numSteps:0})}}function P_(t,{config:e,tensors:r},{layer:o,...n}){let{promptLayers:s,suffixes:i,rowKeys:a,tiles:c}=r,{qRotated:u,kRotated:l,v:f,attention:d}=s[o];z_(t,{q:u,promptK:l,promptV:f,out:d,suffixK:i[o].k,suffixV:i[o].v,rowKeys:a,tiles:c,numHeads:e.numHeads,headDim:e.headDim,...n})}var xu=class{#e=[];#t=0;#r=[];#o=0;#n=[];get children(){return this.#r}get numRows(){return this.#o}get numSteps(){return this.#n.length}begin(e){this.#e=e,this.#r=[],this.#o=0}fork(e,r){b(e.length===this.#e.length,`${e.length} numbers of children`),this.#t=r,this.#n=[],this.#s(e)}branch(e){let r=e.every((n,s)=>s===0||e[s-1]<=n);b(r&&e[e.length-1]<this.#o,`parents ${e}`);let o=this.#r.map(({firstRow:n,endRow:s})=>e.reduce((i,a)=>a>=n&&a<s?i+1:i,0));this.#s(o),this.#n=this.#n.map(n=>e.map(s=>n[s]))}nextPositions(e){let r=new Uint32Array(e);for(let{firstKey:o,endKey:n,firstRow:s,endRow:i}of this.#r)r.fill(n-o+this.numSteps,s,i);return r}previousKeys(e){let r=new Uint32Array(e),o=this.#n.at(-1);if(o)r.set(o);else for(let{endKey:n,firstRow:s,endRow:i}of this.#r)r.fill(n-1,s,i);return r}append(e){this.#n.push(Uint32Array.from({length:this.#o},(r,o)=>e+o))}rowKeys(e){let r=new Uint32Array((1+this.numSteps)*e);for(let{endKey:o,firstRow:n,endRow:s}of this.#r)r.fill(o,n,s);return this.#n.forEach((o,n)=>r.set(o,(1+n)*e)),r}#s(e){let r=this.#t,o=0;this.#r=this.#e.map(({firstKey:n,endKey:s},i)=>{b(r<s-n,`a prompt has no ${r} tokens and one before`);let a=o+e[i],c={firstKey:n,endKey:s-r,firstRow:o,endRow:a};return o=a,c}),this.#o=o}};function HE(t,e){let r=0;return e.map((o,n)=>{for(;o>=t[r].endKey;)r++;return{firstKey:t[r].firstKey,endKey:o+1,firstRow:n,endRow:n+1}})}var yu=class{#e;#t;#r;#o;#n=[];#s=[];#a=[];#i=[];constructor(e,r,o){this.#o=be(r.config),this.#e=e,this.#t=r,this.#r=o}load(e){this.#t.load(e)}writePrompts(e,r,{recents:o=[],ends:n}){this.#n=e,this.#a=n,this.#s=o;let s=new Uint32Array(r*this.#o).fill(T),i=0;e.forEach((a,c)=>{let u=new Bt(this.#t);for(let l=0;l<a.length;l++,i+=this.#o)u.read(a[l],s,i,this.#c(c,l))}),this.#e.write(this.#r,s)}fork(e,r){let o=new Uint32Array(this.#o),n=0;this.#i=this.#n.flatMap((s,i)=>{let a=new Bt(this.#t),c=0;return this.#a[i].flatMap(u=>{for(;c<u-r;c++)a.read(s[c],o,0,this.#c(i,c));return Array.from({length:e[n++]},()=>a.clone())})})}branch(e){this.#i=Array.from(e,r=>this.#i[r].clone())}writeStep(e,r){let o=new Uint32Array(r*this.#o).fill(T);this.#i.forEach((n,s)=>n.read(e[s],o,s*this.#o)),this.#e.write(this.#r,o)}#c(e,r){let o=this.#s[e],n=r===this.#n[e].length-1;return o&&n?{isTraining:!1,context:0,recent:o}:void 0}},KE=128,I_="lower the decoder's maxPromptTokens, maxRows or maxSteps",ri=class t{registry;config;extent;#e;#t;#r;#o;#n;constructor(e,r,o,n){this.registry=e,this.config=r,this.extent=o,this.#t=new Map,this.#r=new xu,this.#o=0,this.#e=n;let{embeddingRows:s}=n.inputs;this.#n=s&&new yu(e.gpu,new ut(r),s);let{rowIndex:i}=n.chosen;e.gpu.write(i,Uint32Array.from({length:i.shape[0]},(a,c)=>c))}static async create(e,{config:r,weights:o},n){let{memoryLimitBytes:s,...i}=n,a=wu(r,i);if(a>s)throw new y(`Cannot allocate the decoder: it takes ${St(a)} besides the weights, expected at most ${St(s)}; ${I_}, or raise its memory limit`);let{gpu:c}=e,u=await Ns(c,f=>ti(r,i,f),{what:"the decoder",remedy:I_}),l=new t(e,r,i,u);return l.load(o),l}load(e){let{parameters:r}=this.#e;Cs(this.registry.gpu,this.config,{parameters:r,weights:e}),this.#n?.load(e)}async prefill(e,r={}){let{numLast:o=1,recents:n,ends:s=e.map(({length:E})=>[E])}=r,{config:i}=this,{gpu:a}=this.registry,c=this.#e,u=e.reduce((E,{length:k})=>E+k,0);this.#f("prompt tokens",u,this.extent.maxPromptTokens);let l=Zt(u),f=new Uint32Array(l),d=new Uint32Array(l),p=new Uint32Array(l),h=[],g=[],m=0;for(let[E,k]of e.entries()){let M=o===1/0?k.length:o;b(k.length>=M,`a prompt of ${k.length} tokens has no ${o} last ones`),this.#l(k.length-1);let C=m+k.length;f.set(k,m);for(let j=m;j<C;j++)d[j]=j-m;p.fill(m,m,C);let N=m;for(let j of s[E]){let ae=m+j-(o===1/0?j:o);b(ae>=N,`ends ${s[E]} of a prompt are less than ${o} tokens apart`),N=m+j;for(let he=ae;he<N;he++)h.push(he);g.push({firstKey:m,endKey:N})}b(N<=C,`ends ${s[E]} of a prompt of ${k.length} tokens`),m=C}this.#r.begin(g),this.#n?.writePrompts(e,l,{recents:n,ends:s}),p.fill(m,m),this.#i(f,d),a.write(c.inputs.segmentStart,p),this.#a(()=>Is(p,l)),a.write(c.chosen.positions,Uint32Array.from(h));let w=Zt(h.length),_=w<=c.tiles.shape[0];_&&(this.#s(HE(g,h),w),a.write(c.rowKeys,Uint32Array.from(h,E=>E+1)));let S=this.#u(_?`prefill ${l} for ${w}`:`prefill ${l}`,E=>O_(E,{config:i,tensors:c,rows:l,numWanted:_?w:void 0}));return await this.#c(S,h.length,_?void 0:h)}fork(e,r={}){let o=e.reduce((s,i)=>s+i,0);this.#f("rows",o,this.extent.maxRows);let{numDropped:n=0}=r;this.#r.fork(e,n),this.#n?.fork(e,n),this.#s(this.#r.children)}async step(e,r){b(this.#r.numRows>0,"a step needs rows: call fork() before");let o=r?.length??this.#r.numRows;b(e.length===o,`${e.length} tokens for ${o} rows`);let n=this.#r.numSteps;this.#f("steps",n+1,this.extent.maxSteps),this.#f("rows",o,this.extent.maxRows),r&&(this.#r.branch(r),this.#n?.branch(r),this.#s(this.#r.children));let s=Zt(o),i=new Uint32Array(s);i.set(e);let a=this.#r.nextPositions(s);for(let h of a)this.#l(h);this.#i(i,a),this.#n?.writeStep(e,s),this.#a(()=>this.#r.previousKeys(s));let{config:c}=this,u=this.#e,{rowKeys:l}=u;this.#r.append(n*l.shape[1]),this.registry.gpu.write(l,this.#r.rowKeys(s));let f=this.#o,d=`step ${n} of ${s} rows in ${f} tiles`,p=h=>M_(h,{config:c,tensors:u,rows:s,step:n,numTiles:f});return await this.#c(this.#u(d,p),o)}#s(e,r){let{gpu:o}=this.registry,n=T_(e,A_(o.info,this.config.headDim));this.#o=r??Math.min(Zt(n.length),this.#e.tiles.shape[0]);let s=new Uint32Array(this.#o*4);n.forEach((i,a)=>s.set([i.firstKey,i.endKey,i.firstRow,i.endRow],a*4)),o.write(this.#e.tiles,s)}#a(e){let r=this.#e.inputs.previous;r&&this.registry.gpu.write(r,e())}#i(e,r){let{gpu:o}=this.registry,n=J(this.config);b(e.every(s=>s<n),`there is a token that is not below ${n}`),o.write(this.#e.inputs.tokens,e),o.write(this.#e.positions,r)}async#c(e,r,o){let{gpu:n}=this.registry,{config:s}=this,i=Zt(r),{chosen:a,head:c,parameters:u}=this.#e,l=this.#u(`head of ${i}, ${o?"chosen":"all"}`,w=>ew(w,{config:s,hiddenStates:c.xLastNorm,operands:u,tensors:o?a:{...a,positions:a.rowIndex},rows:i})),f={...a.logProbabilities,shape:[r,J(s)]},d=o?(o.at(-1)??-1)+1:r,p=w=>{e.encode(w),l.encode(w)},h=[f,{...c.xLastScale,shape:[d]}],[g,m]=await n.readAfter(p,...h);return await this.registry.ready(),yg(g,o?o.map(w=>m[w]):[...m]),g}#u(e,r){let o=this.#t.get(e),n=o??new Ze(this.registry,e);if(o||r(n),this.#t.delete(e),this.#t.set(e,n),this.#t.size>KE){let[[s,i]]=this.#t;this.#t.delete(s),i.destroy()}return n}#l(e){let{sequenceLength:r}=this.config;if(!(e<r))throw new y(`Cannot decode: position ${e} was asked for, expected at most ${r-1}; shorten the prompt or use a model with longer sequences`)}#f(e,r,o){if(!(r<=o))throw new RangeError(`Cannot decode: ${r} ${e} were asked for, expected at most ${o}; create a larger decoder`)}};function ie(t,e,r=267){return t.subarray(e*r,(e+1)*r)}var Zr=-1;function oi(t,e){let r=Float64Array.from(e,(s,i)=>s===Zr?Zr:t[i]*65536+s),o=Float64Array.from(new Set(r.filter(s=>s>=0))).sort(),n=new Map(Array.from(o,(s,i)=>[s,i]));return{tokens:Uint16Array.from(o,s=>s%2**16),parents:Uint32Array.from(o,s=>Math.floor(s/2**16)),rows:Uint32Array.from(r,s=>n.get(s)??0)}}var R_=47;var qN=new Uint16Array(9);function N_(t){return t?VE(t):GE}var GE={maxMeasurementTokens:R_,divide:t=>[t],write({measurements:t},e,r,o){let n=new at(e,r);for(let s of t){let i=n.at;n.write(s,s.order),!(!o||s.rttCode===null||!s.rttHistory)&&Xh(s.rttHistory,o,e.indexOf(8,i)*rs)}return n.at}};function VE(t){let e=Qn(t);return{maxMeasurementTokens:55,divide:({mode:r,measurements:o})=>o.map(n=>({mode:r,measurements:[n],numTokens:Er(n)})),write({measurements:r},o,n){let s=new Ar(o,e);s.at=n;for(let i of r)s.writeFields(i,i.order);return s.at}}}var $e=Float64Array.from(te,Kt),on=6e4,L_=$e.findIndex(t=>t>on),WE=.01,ft=class{probabilities=new Float64Array(te.length);cumulative=new Float64Array(te.length)},qt=class t{pFailed;probabilities;canonicalMass;spreadMass;#e;constructor(e,r,o,n=0,s=new Float64Array(r.length)){this.pFailed=e,this.probabilities=r,this.canonicalMass=o,this.spreadMass=n,b(r.length===te.length,"one probability per canonical code"),this.#e=s;let i=0;for(let a=0;a<r.length;a++)s[a]=i+=r[a]}copy(){let{pFailed:e,probabilities:r,canonicalMass:o,spreadMass:n}=this;return new t(e,r.slice(),o,n)}get meanMs(){let e=this.withinPingLimit;if(e===0)return on;let r=0;for(let o=0;o<L_;o++)r+=this.probabilities[o]*$e[o];return r/e}get withinPingLimit(){return this.#e[L_-1]}probabilityOf(e){return this.probabilities[this.indexOf(e)]}cdf(e){return this.#e[this.indexOf(e)]}indexOf(e){return C_(te,we(e))}quantileMs(e){if(!(e>=0&&e<=1))throw new RangeError(`Cannot take quantile ${e}: expected 0 to 1`);return this.#t(e*this.#e[this.#e.length-1])}likeliest(){let e=0,r=0,o=0,n=0;for(let i=0;i<$e.length;i++){for(n+=this.probabilities[i];$e[i]>$e[o]*(1+WE);)n-=this.probabilities[o++];n>e&&(e=n,r=o)}let s=r===0?0:this.#e[r-1];return{rttMs:this.#t(s+e/2),probability:e}}histogram(e){let r=Math.log(this.quantileMs(.005)*.999),o=Math.log(this.quantileMs(.995)*1.001),n=i=>Math.exp(r+(o-r)*i/e),s=Array.from({length:e},(i,a)=>({lowMs:n(a),highMs:n(a+1),probability:0}));for(let i=0;i<this.probabilities.length;i++)this.probabilities[i]>0&&YE(s,te[i],this.probabilities[i]);return s}#t(e){return $e[Math.min(C_(this.#e,e),$e.length-1)]}};function YE(t,e,r){let o=Gt(e);if(o.highMs<=t[0].lowMs||o.lowMs>=t[t.length-1].highMs)return;let n=o.highMs-o.lowMs,s=Math.log(t[0].highMs/t[0].lowMs),i=Math.floor(Math.log(Math.max(o.lowMs,t[0].lowMs)/t[0].lowMs)/s);for(let a=Math.max(0,i-1);a<t.length&&t[a].lowMs<o.highMs;a++){let c=Math.min(o.highMs,t[a].highMs)-Math.max(o.lowMs,t[a].lowMs);c>0&&(t[a].probability+=r*c/n)}}function C_(t,e){return Te(t.length,r=>t[r]>=e)}var Y=[...new Set([...te].map(t=>t>>8))],B_=Y.map(t=>11+t),D_=[8,10],Ft=Array.from({length:256},()=>[]);for(let t of te)Ft[t>>8].push(t&255);function ni(t){return Ft[t]}var rt=[...Y.map(t=>tt(t<<8|Ft[t][0])),Et];function si(t,e){let{probabilities:r}=At(t,Y);if(!e)return r;let o=0;r.forEach((s,i)=>o+=rt[i]<e.end?s:0);let n=o>0?e.modelShare/o:0;return r.map((s,i)=>rt[i]<e.end?s*n:0)}function U_(t,{arrays:e=new ft,pool:r}={}){let{outcome:o,first:n,seconds:s,expanded:i}=t,{probabilities:a,cumulative:c}=e,u=At(n,Y),l=si(n,r),f=0,d=0,p=0,h=0;Y.forEach((m,w)=>{let _=l[w],S=u.probabilities[w]*u.mass,E=Ft[m].length;if(i[h]===w){let k=a.subarray(p,p+=E);f+=S*j_(k,ie(s,h++),Ft[m]);for(let M=0;M<E;M++)k[M]*=_}else f+=S,d+=_,a.fill(_/E,p,p+=E)}),r?.addTo(a);let g=nn(o);return new qt(g,a,f,d,c)}function nn(t){return 1/(1+Math.exp(t[8]-t[10]))}function Z_(t,{outcome:e,first:r,second:o},n){if(t===null)return ur(e,10,D_);let[s,i]=[t>>8,t&255],a=ur(o,11+i,Ft[s].map(u=>11+u)),c=n?vu(t,n,[ur(r,11+s,bu(n)),a]).ofCode:ur(r,11+s,B_)+a;return ur(e,8,D_)+c}function bu({end:t}){return B_.filter((e,r)=>rt[r]<t)}function vu(t,e,[r,o]){let n=tt(t),s=Y.indexOf(t>>8),i=n<e.end?e.modelShare*Math.exp(r):0;return{ofFirst:Math.log(i+e.massBetween(rt[s],rt[s+1])),ofCode:Math.log(i*Math.exp(o)+e.massBetween(n,n+1))}}function q_([t,e],{first:r,ofLow:o,ofHigh:n},s){let[i,a]=[tt(t),tt(e)+1],c={below:s?.massBetween(0,i)??0,within:s?.massBetween(i,a)??0},u=si(r,s);return Y.forEach((l,f)=>{if(l!==t>>8&&l!==e>>8){l<t>>8?c.below+=u[f]:l<e>>8&&(c.within+=u[f]);return}let d=At(l===t>>8?o:n,Ft[l]).probabilities;Ft[l].forEach((p,h)=>{let g=l<<8|p;g<t?c.below+=u[f]*d[h]:g<=e&&(c.within+=u[f]*d[h])})}),c}function ur(t,e,r){let o=-1/0;for(let s of r)o=Math.max(o,t[s]);let n=0;for(let s of r)n+=Math.exp(t[s]-o);return t[e]-o-Math.log(n)}function F_(t,{maxSpreadMass:e,code:r}){let{probabilities:o}=At(t,Y),s=Y.keys().toArray().toSorted((c,u)=>o[u]-o[c]),i=new Set(r===null?[]:[Y.indexOf(r>>8)]),a=1;for(let c of s){if(a<=e)break;i.add(c),a-=o[c]}return[...i].sort((c,u)=>c-u)}function At(t,e){let r=new Float64Array(e.length);return{mass:j_(r,t,e),probabilities:r}}function j_(t,e,r){let o=0;for(let n=0;n<r.length;n++)o+=t[n]=Math.exp(e[11+r[n]]);for(let n=0;n<r.length;n++)t[n]/=o;return o}var JE=8192,XE=1024;function QE(t){return N_(ys(t)).maxMeasurementTokens-1}function Su(t,e){for(let r=JE;;r/=2){let o={maxPromptTokens:Math.max(r,t.sequenceLength),maxRows:Math.max(r,Y.length),maxSteps:2};if(r<Y.length||_u(t,o,e))return o}}var e2=8;function H_(t,e){for(let r=XE;;r/=2){let n={maxPromptTokens:Math.max(t.sequenceLength,e2*r),maxRows:r,maxSteps:QE(t)};if(r<=32||_u(t,n,e))return n}}function*ii(t,{maxPromptTokens:e,maxRows:r},o){let n=[],s=0;for(let i of t)(s+i.length>e||(n.length+1)*o>r)&&n.length>0&&(yield n,n=[],s=0),n.push(i),s+=i.length;n.length>0&&(yield n)}async function t2(t,e,r){let o=J(t.config),n=e.flatMap(({continuations:c})=>[...c]),s=Uint32Array.from(e.flatMap(({continuations:c},u)=>c.map(()=>u))),i=(c,u)=>l=>{n.forEach((f,d)=>{c<f.length&&r(ie(l,u[d],o),d,c)}),t.registry.gpu.recycle(l)},a=[t.prefill(e.map(({prompt:c})=>c)).then(i(0,s))];t.fork(e.map(()=>1));for(let c=1;;c++){let u=oi(s,n.map(l=>c<l.length?l[c-1]:Zr));if(u.tokens.length===0)break;s=u.rows,a.push(t.step(u.tokens,u.parents).then(i(c,s)))}await Promise.all(a)}function*r2(t,{maxPromptTokens:e,maxRows:r}){let o=[],n=0,s=0;for(let{prompt:i,continuations:a}of t)for(let c=0;c<a.length;){!(n+i.length<=e&&s<r)&&o.length>0&&(yield o,o=[],n=0,s=0);let l=a.slice(c,c+r-s);o.push({prompt:i,continuations:l}),n+=i.length,s+=l.length,c+=l.length}o.length>0&&(yield o)}var ai=class{#e;#t;#r;#o;constructor(e,r){this.#e=e,this.#t={limitBytes:r,bufferBytes:ir(e.registry.gpu.device)};let o=n=>ri.create(e.registry,e,{...n,memoryLimitBytes:r});this.#r=new ci(()=>o(Su(e.config,this.#t))),this.#o=new ci(()=>o(this.continuationExtent))}get continuationExtent(){return H_(this.#e.config,this.#t)}async withPrompts(e,r,o){let n=Su(this.#e.config,this.#t),s=0;for(let i of ii(e,n,r))await this.#r.run(a=>o(a,i,s)),s+=i.length}async continuePrompts(e,r){return await this.#o.run(async o=>{let n=await o.prefill(e),s=await r(o,n);return o.registry.gpu.recycle(n),s})}async tokenLogProbabilities(e,r){let o=J(this.#e.config),n=[],s=e.map(i=>i.subarray(0,-1));return await this.withPrompts(s,1,async(i,a)=>{let c=await i.prefill(a,{numLast:r}),u=0;for(let{length:l}of a){let f=e[n.length].subarray(-Math.min(r,l));n.push(Float32Array.from(f,d=>c[u++*o+d]))}i.registry.gpu.recycle(c)}),n}async visitContinuations(e,r){let o=0;for(let n of r2(e,this.continuationExtent)){let s=o;await this.#o.run(i=>t2(i,n,(a,c,u)=>r(a,s+c,u)));for(let{continuations:i}of n)o+=i.length}}async continuationLogProbabilities(e,r){let o=e.flatMap(({prompt:s,continuations:i})=>i.map(a=>({tokens:a,places:r?.(a,s)}))),n=o.map(({tokens:s})=>new Float32Array(s.length));return await this.visitContinuations(e,(s,i,a)=>{let{tokens:c,places:u}=o[i],l=u?.[a];n[i][a]=l?ur(s,c[a],l):s[c[a]]}),n}async reload(){let{weights:e}=this.#e;await Promise.all([this.#r,this.#o].map(r=>r.reload(e)))}},ci=class{#e;#t;#r=Promise.resolve();constructor(e){this.#e=e}async run(e){return await this.#o(async()=>await e(await(this.#t??=this.#e())))}async reload(e){await this.#o(async()=>(await this.#t)?.load(e))}async#o(e){let r=this.#r.then(e);return this.#r=r.catch(()=>{}),await r}};var K_=2**32-1;function ve(t,e){let{source:r,destination:o,timeS:n,context:s}=t;return sn({source:r,destination:o,rttCode:null,timeS:n},{context:s,order:yt,sequenceLength:e}).subarray(0,-1)}function sn(t,e){let{context:r,order:o,sequenceLength:n}=e,{source:s,destination:i}=t;if(s.length!==i.length)throw new y(`Cannot ask for an RTT from IPv${s.length===4?4:6} to IPv${i.length===4?4:6}: expected two addresses of one version`);let a=new Uint16Array(n+1),c=new at(a),u=Tt({...t,context:r},n);ku(u,t.timeS);for(let l of u)c.write(l,yt);return c.write(t,o),a.subarray(0,c.at)}function ku(t,e){let r=null;for(let{timeS:o}of[...t,{timeS:e}]){if(e!==null&&o!==null&&o>e)throw new y(`Cannot ask about Unix time ${e}: found a measurement of ${o} in its context, expected none after it`);if(r!==null&&o!==null&&o-r>K_)throw new y(`Cannot ask about times ${o-r} s apart: expected at most ${K_} s between two measurements`);r=o??r}}function Tt(t,e){let{source:r,destination:o,timeS:n,context:s}=t,i={source:r,destination:o,rttCode:null,timeS:n},a=e-1,c=Math.max(0,s.length-Math.ceil(a/11));for(let u=c;u<=s.length;u++){let l=null,f=0;for(let d of[...s.slice(u),i])f+=it(d,l),l=d.timeS??l;if(f<=a)return s.slice(u)}throw new y(`Cannot ask: a measurement does not fit the model's sequence of ${e} tokens; use a model with longer sequences`)}var o2=new ft,n2=Y.keys().toArray();async function G_(t,{prompts:e,recents:r,poolOf:o},n,s){await t.withPrompts(e,Y.length,async(i,a,c)=>{let u=r.slice(c,c+a.length),l=i.prefill(a,{numLast:2,recents:u}),f=a.map(()=>n2);if(s){let{maxSpreadMass:m,codes:w}=s,_=await l;f=a.map((S,E)=>F_(ie(_,2*E+1),{maxSpreadMass:m,code:w[c+E]}))}i.fork(f.map(({length:m})=>m));let d=i.step(f.flat().map(m=>11+Y[m])),[p,h]=await Promise.all([l,d]),g=0;f.forEach((m,w)=>{let _={outcome:ie(p,2*w),first:ie(p,2*w+1),expanded:m,seconds:h.subarray(g*267,(g+=m.length)*267)};n(U_(_,{arrays:o2,pool:o(c+w)}),c+w)}),i.registry.gpu.recycle(p,h)})}var V_=Date.UTC(1990,0,1)*1e3,W_=Date.UTC(2100,0,1)*1e3;var Q_=/^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(?:Z|([+-]\d\d)(?::?(\d\d))?)?)?$/,an={seconds:1e6,milliseconds:1e3,microseconds:1,nanoseconds:.001},Y_="",J_=!1;function ui(t,e="seconds"){let r=/^\d+(?:\.\d+)?$/.test(t),o=r?Math.round(Number(t)*an[e]):s2(t);if(X_(o))return{timeUs:o};if(Number.isNaN(o))return{fault:`${Q_.test(t)?"there is no such date or time":"it is not a time"}, expected a time as ISO 8601 or Unix ${e}`};let n=r&&Object.keys(an).find(i=>X_(+t*an[i]));if(!n)return{fault:"expected a time from 1990 to 2099"};let s=Math.floor(+t*an[n]/an[e]);return{fault:`these look like ${n}, expected Unix ${e}, such as ${s}`}}function X_(t){return t>=V_&&t<W_}function s2(t){let e=Q_.exec(t);if(!e)return NaN;let[,r,o="00:00",n="+00",s="00"]=e;if(r!==Y_){let c=Date.parse(`${r}T00:00Z`);J_=!Number.isNaN(c)&&new Date(c).toISOString().startsWith(r),Y_=r}if(!J_)return NaN;let[i,a=""]=o.split(".");return Date.parse(`${r}T${i}${n}:${s}`)*1e3+Number(a.slice(0,6).padEnd(6,"0"))}var i2=["src","dst","time","context"],a2=["src","dst","time","rtt"],c2=80;function cn(t){let{src:e,dst:r,time:o,context:n}=ox(t,i2),s=[],i=ex("src",e,s),a=ex("dst",r,s);return{source:i,destination:a,timeS:sx(o),context:f2(n,s),notes:s}}function rx(t){let{source:e,destination:r,timeS:o,context:n}=Eu(t);for(let s of[e,r])if(!ee(s))throw new y(`Cannot give one exact distribution for ${Ue(s)}: expected two addresses; use rttBetweenPrefixes`);return{source:e.bytes,destination:r.bytes,timeS:o,context:n}}function Eu(t){let{source:e,destination:r,timeS:o,context:n}=cn(t);return{source:e,destination:r,timeS:o,context:n??[]}}function u2(t){if(qm(t))return`${t} has bits after the prefix: taken as ${Ue(bc(t))}`}function ox(t,e){let r=Object.keys(t).find(o=>!e.includes(o));if(r===void 0)return t;throw new y(`found ${mn(r)}, expected only ${e.join(", ")}`)}function ex(t,e,r){let o=nx(t,e,"address or prefix");try{let n=bc(o),s=u2(o);return s!==void 0&&r.push(s),n}catch(n){throw n instanceof y?new y(`${t}: ${n.message}`):n}}function tx(t,e){let r=nx(t,e,"address"),o=Ss(r);if(o)return o;throw new y(`found ${t} ${dt(r)}, expected an IPv4 or IPv6 address${Lo(r)}`)}function nx(t,e,r){if(typeof e=="string"&&e!==""&&e.length<=c2)return e;let o=e===void 0||e===""?`no ${t}`:`${t} ${dt(e)}`;throw new y(`found ${o}, expected an IPv4 or IPv6 ${r}`)}function l2(t){let e=ui(t);return"fault"in e?e:{timeS:Math.floor(e.timeUs/1e6)}}function sx(t){if(t==null||t==="")return null;let e=l2(typeof t=="string"||typeof t=="number"?String(t):"");if("timeS"in e)return e.timeS;throw new y(`found time ${dt(t)}, ${e.fault}`)}function f2(t,e){if(t==null)return null;if(!Array.isArray(t))throw new y(`found context ${dt(t)}, expected an array of measurements`);let r=t.map((o,n)=>{try{return un(o)}catch(s){throw s instanceof y?new y(`context[${n}]: ${s.message}`):s}});return p2(r,e)}function un(t){if(typeof t!="object"||t===null)throw new y("found no JSON object, expected one with src, dst, time and rtt");let{src:e,dst:r,time:o,rtt:n}=ox(t,a2),s=tx("src",e),i=tx("dst",r);if(s.length!==i.length)throw new y("found addresses of different IP versions, expected two of one version");return{source:s,destination:i,rttCode:d2(n),timeS:sx(o)}}function d2(t){if(t===null)return null;if(typeof t=="number"&&t>=0&&t<1/0)return we(t);let e=t===void 0?"no rtt":`rtt ${dt(t)}`;throw new y(`found ${e}, expected ms of 0 or more, or null for no reply`)}function dt(t){return typeof t=="object"&&t!==null?Array.isArray(t)?"an array":"an object":JSON.stringify(typeof t=="string"?mn(t):t)}function p2(t,e){let r=t.map(({timeS:o})=>o).filter(o=>o!==null);if(r.length>0&&r.length<t.length)throw new y("found context with a time in some measurements only, expected it in all or none");return r.every((o,n)=>n===0||o>=r[n-1])?t:(e.push("the context is not in order of time: it was sorted"),t.toSorted((o,n)=>(o.timeS??0)-(n.timeS??0)))}var h2=2**30;function m2({directory:t,config:e}){let{vocabulary:r}=e.model;if(r!=="v2")throw new K(`the model has vocabulary ${r}, expected v2; train one with v2, or ask only for likelihoods (query likelihood, eval)`,{path:t})}var li=class t{config;registry;step;decoders;calibration;#e;#t;#r;constructor(e,r,o,n,{memoryLimitBytes:s=h2,calibration:i,noPool:a,pool:c,adapted:u,trainingData:l}){this.config=e,this.registry=r,this.step=n,this.#r=new ft,this.#e=new Fs(e,o,{adapted:u,trainingData:l}),this.calibration=i,c&&!a&&(this.#t=new Qs(e,{weights:o,pool:c})),this.decoders=new ai(this,s)}static async from(e,r={}){r.anyVocabulary||m2(e),r.calibration?.requireOf(e,e.pool!==void 0&&!r.noPool);let{config:o,weights:n,state:s}=e,i=new Vs(await Xo.open()),{adapted:a,trainingData:c,pool:u}=e,l={adapted:a,trainingData:c,pool:u};return new t(o.model,i,n,s.step,{...r,...l})}static of(e,r,{weights:o,...n}){return new t(e,r,o,0,n)}get weights(){return this.#e.weights}get trainingData(){return this.#e.trainingData}get gpu(){return this.registry.gpu}async rttDistribution(e){return(await this.rttDistributions(["source"in e?e:rx(e)]))[0]}async rttDistributions(e){let r=[];return await this.likelyRttDistributions(e,o=>r.push(o.copy())),r}async likelyRttDistributions(e,r,o){let{sequenceLength:n}=this.config,s={prompts:e.map(a=>Uint16Array.of(...ve(a,n),8)),recents:e.map(({recent:a})=>a?.flatMap(({rttCode:c,timeS:u})=>c===null?[]:[{rttCode:c,timeS:u}])),poolOf:a=>this.pooled(e[a])},i=(a,c)=>r(this.calibration?.apply(a,this.#r)??a,c);await G_(this.decoders,s,i,o)}pooled(e){return this.#t?.forecast({...e,context:Tt(e,this.config.sequenceLength)})}async adapt(e,r={}){let o=e.map(s=>"source"in s?s:un(s)),n=await this.#e.fit(this.registry,o,r);return this.#t=this.#t?.withWeights(this.weights),await this.decoders.reload(),n}close(){this.gpu.close()}[Symbol.dispose](){this.close()}};function zt({first:t,last:e}){return Array.from({length:e-t+1},(r,o)=>11+t+o)}function ix(t,{first:e,last:r}){let o=0;for(let n=e;n<=r;n++)o+=Math.exp(t[11+n]);return o}function fi(t,{tokens:e,random:r,temperature:o=1}){let n=-1/0;for(let a of e)n=Math.max(n,t[a]);let s=e.map(a=>Math.exp((t[a]-n)/o)),i=r.float64()*s.reduce((a,c)=>a+c,0);for(let a=0;a<s.length;a++)if(i-=s[a],i<0)return e[a];return e[s.indexOf(1)]}async function*di(t,e,{count:r,begin:o}){let{maxRows:n}=t.continuationExtent;for(let s=0;s<r;s+=n){let i=Array.from({length:Math.min(n,r-s)},(a,c)=>o(s+c));await t.continuePrompts([e],async(a,c)=>{a.fork([i.length]);for(let u of i)u.draw(c);for(;i.some(u=>!u.isComplete);){let u=await a.step(i.map(l=>l.lastToken));i.forEach((l,f)=>l.draw(ie(u,f))),a.registry.gpu.recycle(u)}}),yield*i}}var g2=Array.from({length:256},(t,e)=>e);async function ax({decoder:t,ends:e},r,o){let n=r.flatMap((a,c)=>a.take(o).map(u=>({search:a,prompt:c,at:u,isDone:!1})));if(n.length===0)return 0;t.fork(r.map(()=>1));let s=e,i=Uint32Array.from(n,({prompt:a})=>a);for(let a=0;;a++){n.forEach((l,f)=>{if(l.isDone||l.at.bytes.length!==a)return;let d=l.search.expand(l.at,At(ie(s,i[f]),g2).probabilities);d?l.at=d:l.isDone=!0});let c=n.map(({at:l,isDone:f})=>f?Zr:11+l.bytes[a]),u=oi(i,c);if(s!==e&&t.registry.gpu.recycle(s),u.tokens.length===0)return n.length;s=await t.step(u.tokens,u.parents),i=u.rows}}var cx=256,pi=class{#e;#t;#r=new ds((e,r)=>Au(e)>Au(r));#o=[];#n={bytes:[],mass:1};#s=new Set;#a=0;constructor({numBytes:e,top:r}){this.#e=e,this.#t=r}get found(){return this.#o}get numExpanded(){return this.#a}get isProven(){return this.#n===void 0&&this.#s.size===0&&this.#i<=this.#u}take(e){let r=[];for(this.#n&&e>0&&this.#t>0&&(r.push(this.#n),this.#n=void 0);r.length<e&&this.#i>this.#u;)r.push(this.#c());for(let o of r)this.#s.add(o);return r}expand(e,r){b(this.#s.delete(e),"a node is expanded that was not taken"),this.#a++;let o=r.map(a=>e.mass*a);if(e.bytes.length+1===this.#e){o.forEach((a,c)=>this.#l({bytes:[...e.bytes,c],mass:a}));return}let n=Uint8Array.from({length:cx},(a,c)=>c);n.sort((a,c)=>o[c]-o[a]||a-c);let s={node:e,masses:o,order:n,numTaken:1};this.#r.add(s);let i=ux(s,n[0]);return this.#s.add(i),i}get#i(){return this.#r.first?Au(this.#r.first):0}#c(){let{first:e}=this.#r;b(e,"a child is taken where there is none");let r=ux(e,e.order[e.numTaken++]);return e.numTaken===cx?this.#r.removeFirst():this.#r.sinkFirst(),r}get#u(){return this.#o.length<this.#t?0:this.#o.at(-1)?.mass??1/0}#l(e){if(e.mass<=this.#u)return;let r=o=>this.#o[o].mass<e.mass;this.#o.splice(Te(this.#o.length,r),0,e),this.#o.length>this.#t&&this.#o.pop()}};function Au({masses:t,order:e,numTaken:r}){return t[e[r]]}function ux({node:t,masses:e},r){return{bytes:[...t.bytes,r],mass:e[r]}}var hi=16,lx=.999,w2=1024,_2=zt({first:0,last:255});async function dx(t,e,{numCandidates:r,maxExpansions:o,onSearch:n,signal:s}){let{decoders:i,trainingData:a}=t,c=e[0].query.source.length,u=x2(a,c).slice(0,r),l=e.map(({query:w})=>new Tu(a,w)),f=l.map(({known:w})=>hx([...w,...u])),d=await i.continuationLogProbabilities(e.map(({prompt:w},_)=>({prompt:w,continuations:f[_].map(S=>Uint16Array.from(S,E=>11+E))})),()=>Array.from({length:c},()=>_2)),p=0,h=f.map((w,_)=>{let S=d.slice(p,p+=w.length),E=w.map((M,C)=>{let N=Math.exp(S[C].reduce((j,ae)=>j+ae,0));return{address:M,prior:l[_].of(M,N)}}),{length:k}=l[_].known;return{known:E.slice(0,k),others:E.slice(k)}}),g=h.map(({known:w,others:_})=>fx([...w,..._])>=lx),m=h.map(({known:w},_)=>new pi({numBytes:c,top:g[_]?0:w.length+r}));return g.every(Boolean)||await i.continuePrompts(e.map(({prompt:w})=>w),async(w,_)=>{for(let S=0;S<o&&(s?.throwIfAborted(),await ax({decoder:w,ends:_},m,hi)!==0);S+=hi)n?.(m.reduce((E,{numExpanded:k})=>E+k,0))}),h.map(({known:w,others:_},S)=>{let E=m[S].found.map(({bytes:C,mass:N})=>{let j=Uint8Array.from(C);return{address:j,prior:l[S].of(j,N)}}),k=new Map(w.map(C=>[re(C.address),C])),M=fx(w);for(let C of[..._,...E].sort((N,j)=>j.prior-N.prior)){if(k.size>=w.length+r||M>=lx)break;let N=re(C.address);k.has(N)||(k.set(N,C),M+=C.prior)}return[...k.values()]})}function fx(t){return t.reduce((e,{prior:r})=>e+r,0)}var Tu=class{known;#e=new Map;#t;#r;constructor(e,{source:r,context:o}){let n=px(e).flatMap(i=>i.destinationsOf(r));for(let{address:i,seen:a}of n){let c=re(i.bytes);this.#e.set(c,(this.#e.get(c)??0)+a.measurements)}this.#t=e?.known.pairDiscount??1,this.#r=this.#e.values().reduce((i,a)=>i+a,0),n.sort((i,a)=>a.seen.measurements-i.seen.measurements);let s=o.filter(i=>re(i.source)===re(r));this.known=hx([...s.map(({destination:i})=>i),...n.map(({address:i})=>i.bytes)]).slice(0,w2)}of(e,r){if(this.#r===0)return r;let o=this.#e.get(re(e))??0,n=this.#t*this.#e.size*r;return(Math.max(0,o-this.#t)+n)/this.#r}};function x2(t,e){return px(t).flatMap(o=>[...o.destinations()]).filter(({bytes:o})=>o.length===e).sort((o,n)=>n.asDestination.measurements-o.asDestination.measurements).map(({bytes:o})=>o)}function px(t){return t?[t.known,...t.adaptation?[t.adaptation.known]:[]]:[]}function hx(t){return[...new Map(t.map(e=>[re(e),e])).values()]}function mi([t,e]){if(!(t>=0&&t<=e&&e<1/0))throw new y(`Cannot ask for destinations at an RTT of ${t}..${e} ms: expected 0 or more, the lesser first`);return[we(t),we(e)]}function gi({source:t},e){let r=8*t.length;if(e===void 0)return r;if(Number.isInteger(e)&&e>=0&&e<=r)return e;throw new y(`Cannot ask for prefixes of ${e} bits: expected 0 to ${r} for the destinations of an IPv${r===32?4:6} source`)}var mx=I({destinations:U(I({prefix:O(),probability:v(),measured:Bo.nullable().describe("by the source, in the training data; null if the model does not say what these were")})).describe("the most probable first"),unlistedProbability:v().describe("that of the candidates that are not listed"),candidates:P().describe("how many destinations were ranked"),priorMass:v().describe("the probability of all candidates before the RTT was known; others cannot be listed")});function gx({destinations:t,...e},r,{trainingData:o}){return{destinations:t.map(({prefix:s,probability:i})=>({prefix:Ue(s),probability:i,measured:o?Uo(ks(o,r,s)):null})),...e}}async function wx(t,e,r={}){let{numCandidates:o=256,top:n=20,maxExpansions:s=512,onSearch:i,onProgress:a,signal:c}=r,u=e.map(d=>y2(d,t.config.sequenceLength)),l=u.map(({prompt:d})=>d),f=[];for(let d of ii(l,t.decoders.continuationExtent,hi)){let p=gi(e[0],r.prefixLength),h=u.slice(f.length,f.length+d.length),g=await dx(t,h,{numCandidates:o,maxExpansions:s,onSearch:i,signal:c});for(let[m,w]of h.entries()){let _=await b2(t,{...w,candidates:g[m],signal:c});f.push(S2(g[m],_,{top:n,prefixLength:p})),a?.(f.length)}}return f}function y2(t,e){let{source:r,rttMs:o,timeS:n,context:s}=t,i=o&&mi(o),a=ve({source:r,destination:r,timeS:n,context:s},e),c=a.lastIndexOf(r.length===4?3:4)+1;return{query:t,codes:i,prompt:a.slice(0,c),time:[...a.subarray(c+r.length)]}}async function b2(t,{query:e,prompt:r,candidates:o,time:n,codes:s,signal:i}){let a=v2(s),c=o.flatMap(({address:h})=>a.map(g=>Uint16Array.of(...Array.from(h,m=>11+m),...n,...g))),u=e.source.length+n.length,l=a[0].length,f=t.gpu.array(c.length*l*267),d=(h,g)=>ie(f,h*l+g);await t.decoders.visitContinuations([{prompt:r,continuations:c}],(h,g,m)=>{i?.throwIfAborted(),m>=u&&d(g,m-u).set(h)});let p=o.map((h,g)=>{let m=a.length*g,w=m+a.length-1,_=nn(d(m,0));if(!s)return _;let{address:S}=o[g],E={first:d(m,1),ofLow:d(m,2),ofHigh:d(w,2)},k=q_(s,E,t.pooled({...e,destination:S}));return(1-_)*(t.calibration?.massOf(k)??k.within)});return t.gpu.recycle(f),p}function v2(t){if(!t)return[[10]];let e=new Set(t.map(r=>r>>8));return Array.from(e,r=>[8,11+r,11])}function S2(t,e,{top:r,prefixLength:o}){let n=t.map(({prior:u},l)=>u*e[l]),s=n.reduce((u,l)=>u+l,0),i=new Map;t.forEach(({address:u},l)=>{let f=No(u,o),d=Ue(f),p=s>0?n[l]/s:1/t.length;i.set(d,{prefix:f,probability:(i.get(d)?.probability??0)+p})});let a=[...i.values()].sort((u,l)=>l.probability-u.probability).slice(0,r),c=a.reduce((u,{probability:l})=>u+l,0);return{destinations:a,unlistedProbability:Math.max(0,1-c),candidates:t.length,priorMass:t.reduce((u,{prior:l})=>u+l,0)}}function _x(t,e){if(e===null)return t;let r=t.length;for(;r>0&&(t[r-1].timeS??e)>e;)r--;return r===t.length?t:t.slice(0,r)}var k2=["time","source","destination","result"];async function E2(t,e,r){let o=A2(e,t.config.sequenceLength),n=await T2(t,o),s=a=>new zu(o,n,{index:a,seed:r.seed}),i=di(t.decoders,o.prompt,{count:r.numDraws,begin:s});return z2(e,await Array.fromAsync(i,a=>a.resultOf(e)))}function A2({source:t,destination:e,timeS:r,context:o},n){let s={source:t.bytes,destination:e.bytes,rttCode:null,timeS:r},i=sn(s,{context:o,order:k2,sequenceLength:n}),a=1+t.bytes.length,c=i.length-1-2*a,u=["source","destination"].flatMap((d,p)=>{let h=d==="source"?t:e,g={kind:"role",token:i[c+p*a]},m=[...h.bytes.keys()].map(w=>({kind:"byte",side:d,index:w,range:Fm(h,w)}));return[g,...m]}),l=d=>d.kind==="byte"&&d.range.first<d.range.last,f=u.findIndex(l);return{prompt:i.slice(0,c+f),fixed:u.slice(0,f),drawn:u.slice(f,u.findLastIndex(l)+1)}}async function T2(t,{prompt:e,fixed:r}){let[o]=await t.decoders.tokenLogProbabilities([e],r.length),n={source:1,destination:1};return r.forEach((s,i)=>{s.kind==="byte"&&(n[s.side]*=Math.exp(o[i]))}),n}var zu=class{#e={source:new Map,destination:new Map};#t;#r;#o;#n=0;lastToken=0;constructor(e,r,{index:o,seed:n}){this.#t=e,this.#o={...r},this.#r=new Ye(n,"query/prefix",o)}get isComplete(){return this.#n===this.#t.drawn.length}draw(e){let r=this.#t.drawn[this.#n++];if(r.kind==="role"){this.lastToken=r.token;return}let{side:o,index:n,range:s}=r;s.last-s.first<255&&(this.#o[o]*=ix(e,s)),this.lastToken=fi(e,{tokens:zt(s),random:this.#r}),this.#e[o].set(n,this.lastToken-11)}resultOf({source:e,destination:r}){return{source:this.#s("source",e),destination:this.#s("destination",r),mass:this.#o}}#s(e,{bytes:r}){return r.map((o,n)=>this.#e[e].get(n)??o)}};function z2({source:t,destination:e},r){let o=new Map;for(let{mass:c,...u}of r){let l=`${u.source} ${u.destination}`,f=o.get(l);f?f.count++:o.set(l,{...u,count:1})}let n=r.map(({mass:c})=>c.destination),s=r.length,i=n.reduce((c,u)=>c+u,0)/s,a=n.reduce((c,u)=>c+(u-i)**2,0)/(s-1);return{pairs:[...o.values()],sourceProbability:ee(t)?null:r[0].mass.source,destinationProbability:ee(e)?null:i,destinationProbabilityError:ee(t)||ee(e)?0:Math.sqrt(a/s)}}function O2(t){return{distribution:t,numDraws:0,numDistinct:1,pFailedError:0,meanErrorMs:0,cdfError:()=>0,quantileErrorMs:()=>0}}var Ou=class{#e=0;#t=0;#r=new qr;#o=0;#n=new qr;#s=new qr;#a=new qr;#i=new Float64Array(te.length);#c=new Float64Array(te.length);#u=new Float64Array(te.length);add(e,r){let{pFailed:o,probabilities:n}=e,s=Math.max(1-o,Number.EPSILON);this.#e+=r,this.#t++,this.#o+=r*e.canonicalMass,this.#r.add({y:o,w:1,count:r}),this.#n.add({y:s,w:s,count:r});let i=s*e.withinPingLimit;this.#s.add({y:i*e.meanMs,w:i,count:r}),this.#a.add({y:i,w:i,count:r});let a=0;for(let c=0;c<n.length;c++){let u=s*n[c];a+=u,this.#i[c]+=r*u,this.#c[c]+=r*a*a,this.#u[c]+=r*a*s}}mixture(){let e=this.#e;b(e>=2,`${e} draws have no standard error`);let r=this.#n,o=new qt(this.#r.sum/e,this.#i.map(a=>a/r.sum),this.#o/e),n=(a,c,u=r)=>{let l=a.squares-2*c*a.products+c**2*u.squares;return Math.sqrt(Math.max(0,l)*e/(e-1))/u.sum},s=a=>{let c=o.indexOf(a);return n({squares:this.#c[c],products:this.#u[c]},o.cdf(a))},i=this.#r.squares/e-(this.#r.sum/e)**2;return{distribution:o,numDraws:e,numDistinct:this.#t,cdfError:s,pFailedError:Math.sqrt(Math.max(0,i)/(e-1)),meanErrorMs:this.#a.sum===0?0:n(this.#s,this.#s.sum/this.#a.sum,this.#a),quantileErrorMs:a=>{let c=s(o.quantileMs(a));return(o.quantileMs(Math.min(1,a+c))-o.quantileMs(Math.max(0,a-c)))/2}}}},qr=class{sum=0;squares=0;products=0;add({y:e,w:r,count:o}){this.sum+=o*e,this.squares+=o*e*e,this.products+=o*e*r}},xx=124,M2=64;async function wi(t,e,r={}){let o="source"in e?e:Eu(e),{numDraws:n=M2,seed:s=0,onProgress:i=()=>{}}=r;if(!(Number.isInteger(n)&&n>=2))throw new RangeError(`Cannot draw ${n} addresses: expected a whole number of at least 2`);if(ee(o.source)&&ee(o.destination)){let{source:l,destination:f}=o,d={...o,source:l.bytes,destination:f.bytes};return ln(await t.rttDistribution(d))}let{pairs:a,...c}=await E2(t,o,{numDraws:n,seed:s}),u=new Ou;for(let l=0;l<a.length;l+=xx){let f=a.slice(l,l+xx),d=f.map(({source:p,destination:h})=>({...o,source:p,destination:h}));await t.likelyRttDistributions(d,(p,h)=>u.add(p,f[h].count)),i(l+f.length,a.length)}return{mixture:u.mixture(),...c}}function ln(t){return{mixture:O2(t),sourceProbability:null,destinationProbability:null,destinationProbabilityError:0}}var $2=124;async function*bx(t,e,r,o){let n=[];for await(let s of e)n.push("error"in s?s:P2(t,s,r)),!(n.length<$2)&&(yield*yx(t,n,r,o),n=[]);yield*yx(t,n,r,o)}function P2(t,e,{context:r}){try{return fn(t,e,r)}catch(o){if(o instanceof y)return{line:e.line,error:o.message};throw o}}function fn({config:{sequenceLength:t}},e,r){let{source:o,destination:n,timeS:s}=e,i=e.context??_x(r,s),a=e.context?0:r.length-i.length,c={source:o.bytes,destination:n.bytes,timeS:s,context:i},u={...c,context:Tt(c,t)};return ve(u,t),{query:{...e,context:e.context&&u.context},first:u,numContext:i.length,numContextLater:a}}function _i({query:t,numContext:e,numContextLater:r,numContextUsed:o}){let n=[...t.notes];return r>0&&n.push(`${r} context measurements are after the query's time and were left out`),o<e&&n.push(`the newest ${o} of ${e} context measurements were used: more do not fit`),n}async function*yx(t,e,r,o){let n=({query:{source:l,destination:f}})=>ee(l)&&ee(f),s=({first:l,...f},d)=>o({...f,numContextUsed:l.context.length,answer:d}),i=e.flatMap(l=>"error"in l||!n(l)?[]:[l]),a=[];await t.likelyRttDistributions(i.map(({first:l})=>l),(l,f)=>a.push(s(i[f],ln(l))));let c=a.values(),u={...r,onProgress:r.onDraws};for(let l of e)if("error"in l)yield l;else if(n(l))yield I2(c);else{let f={...l.query,context:l.first.context};yield s(l,await wi(t,f,u))}}function I2(t){let{value:e,done:r}=t.next();if(r)throw new Error("Internal error: there are fewer answers than queries");return e}var R2=4,N2=[.05,.25,.5,.75,.95],Mu=I({quantiles:U(v().min(0).max(1)).max(200).optional().describe("quantiles from 0 to 1 (0.05,0.25,0.5,0.75,0.95)"),at:U(v().min(0)).max(200).optional().describe("RTTs in ms: the probability of each and of at most each"),cdf:P().min(2).max(1e3).optional().describe("points of the distribution function")}),vx=Lt(O(),v()),Sx=I({pFailed:v().describe("P(no reply)"),meanMs:v().describe("mean of the replies up to 60 s, the longest that ping tools wait, to four digits"),likeliest:I({rttMs:v(),probability:v()}).describe("the RTT that more replies are near than any other, and P(within the hundredth around it)"),quantilesMs:vx.describe("RTT by quantile"),canonicalMass:v().describe("the mass that the model gave to what is an RTT"),at:U(I({rttMs:v(),cdf:v().describe("P(RTT <= this), its whole interval counted"),probability:v().describe("P(RTT in the interval)"),lowMs:v().describe("begin of the interval of RTTs that the model does not tell apart"),highMs:v().nullable().describe("end of the interval, outside; null where it has none"),bits:v().nullable().describe("-log2 P(a reply with an RTT in the interval); null where that is 0")})).optional().describe("the RTTs asked for"),cdf:U(I({rttMs:v(),cdf:v()})).optional().describe("P(RTT <= this) at RTTs evenly spaced in logarithms, from the 0.1 % to the 99.9 % quantile"),drawn:I({numDraws:P(),numDistinct:P(),sourceProbability:v().nullable().describe("P(source in its prefix); null of an address"),destinationProbability:v().nullable().describe("P(destination in its prefix | source); null of an address"),standardErrors:I({pFailed:v(),meanMs:v(),quantilesMs:vx,cdf:U(v()).optional(),destinationProbability:v()})}).optional().describe("between prefixes: what was drawn of them, and how far the numbers may be off")}),L2=[.001,.999];function xi(t,e={}){let{quantiles:r=N2,at:o=[],cdf:n}=e,{distribution:s}=t.mixture,{pFailed:i,meanMs:a,canonicalMass:c}=s;return{pFailed:i,meanMs:Number(a.toPrecision(R2)),likeliest:s.likeliest(),quantilesMs:kx(r,u=>s.quantileMs(u)),canonicalMass:c,...o.length>0&&{at:o.map(u=>D2(s,u))},...t.mixture.numDraws>0&&{drawn:B2(t,r,o)},...n!==void 0&&{cdf:C2(s,n)}}}function C2(t,e){let[r,o]=L2.map(n=>t.quantileMs(n));return Array.from({length:e},(n,s)=>{let i=r*(o/r)**(s/(e-1));return{rttMs:i,cdf:t.cdf(i)}})}function D2(t,e){let r=t.indexOf(e),{lowMs:o,highMs:n}=Gt(te[r]),s=t.probabilities[r],i=(1-t.pFailed)*s;return{rttMs:e,cdf:t.cdf(e),probability:s,lowMs:o,highMs:n===1/0?null:n,bits:i>0?-Math.log2(i):null}}function B2(t,e,r){let{mixture:o,sourceProbability:n,destinationProbability:s,destinationProbabilityError:i}=t,{numDraws:a,numDistinct:c,pFailedError:u,meanErrorMs:l}=o;return{numDraws:a,numDistinct:c,sourceProbability:n,destinationProbability:s,standardErrors:{pFailed:u,meanMs:l,quantilesMs:kx(e,f=>o.quantileErrorMs(f)),...r.length>0&&{cdf:r.map(f=>o.cdfError(f))},destinationProbability:i}}}function kx(t,e){return Object.fromEntries(t.map(r=>[r,e(r)]))}var Ex=["median","probability"],Ax=I({nearest:U(I({candidate:O().describe("as it was given"),medianMs:v(),meanMs:v().describe("mean of the replies up to 60 s, to four digits"),pFailed:v().describe("P(no reply)"),pNearest:v().describe("P(its reply comes before those of all others), ties shared"),regretMs:v().describe("how much longer its RTT is than the shortest of all candidates, on average over times when all reply"),basis:As,notes:U(O()).optional().describe("for people")})).describe("the nearest first"),candidates:P().describe("how many different ones were compared"),pNoReply:v().describe("P(no candidate replies)"),minMs:v().describe("mean of the shortest RTT of all candidates when all reply")});async function Tx(t,e,{by:r,top:o,maxCandidates:n,counted:s,onProgress:i,...a}){let c=new Map;for await(let _ of bx(t,Z2(e,n),a,U2)){if("error"in _)throw new y(`${s} ${_.line}: ${_.error}`);c.set(Ue(_.query.destination),_),i(c.size)}if(c.size===0)throw new y(`found no candidates, expected 1 to ${n}`);let u=[...c.values()],{pNearest:l,regretsMs:f,pNoReply:d,minMs:p}=q2(u),h=u.map(({query:_,probabilities:S,...E},k)=>({query:_,numbers:{...E,pNearest:l[k],regretMs:f[k]}})),g={median:(_,S)=>_.medianMs-S.medianMs,probability:(_,S)=>S.pNearest-_.pNearest},m=r==="median"?"probability":"median";return h.sort(({numbers:_},{numbers:S})=>g[r](_,S)||g[m](_,S)),{nearest:h.slice(0,o).map(({query:{dst:_,source:S,destination:E},numbers:k})=>({candidate:_,...k,basis:Ts(Es(t.trainingData,S,E))})),candidates:u.length,pNoReply:d,minMs:p}}function U2(t){let{query:e,answer:r}=t,{pFailed:o,meanMs:n,quantilesMs:s}=xi(r,{quantiles:[.5]}),i=_i(t);return{query:e,medianMs:s[.5],meanMs:n,pFailed:o,probabilities:Float32Array.from(r.mixture.distribution.probabilities),...i.length>0&&{notes:i}}}async function*Z2(t,e){let r=new Set;for await(let o of t){if(!("error"in o)){let n=Ue(o.destination);if(r.has(n))continue;r.add(n)}if(r.size>e)throw new y(`found more than ${e} candidates, expected 1 to ${e}`);yield o}}var zx=1e-14;function q2(t){let e=t.length,r=new Float64Array(e),o=Float64Array.from(t,({pFailed:a})=>a),n=new Float64Array(e),s=t.map(({pFailed:a,probabilities:c})=>(1-a)/Ox(c)),i=o.reduce((a,c)=>a*c,1);for(let a=$e.length-1;a>=0;a--){let c=1,u=0;for(let l=0;l<e;l++){n[l]=s[l]*t[l].probabilities[a];let f=o[l]+n[l];c*=f,n[l]>0&&(u+=n[l]/f)}if(c*u>zx)for(let{at:l,weight:f}of K2(j2({hazard:u,noneShorter:c,n:e}))){let d=f;for(let p=0;p<e;p++)d*=o[p]+l*n[p];for(let p=0;p<e;p++)n[p]>0&&(r[p]+=n[p]*d/(o[p]+l*n[p]))}for(let l=0;l<e;l++)o[l]+=n[l]}return{pNearest:r,pNoReply:i,...F2(t)}}function F2(t){let e=$e.findLastIndex(i=>i<=on)+1,r=t.map(({probabilities:i})=>Ox(i.subarray(0,e))),o=Float64Array.from(r,i=>i>0?0:1),n=Float64Array.from(o,i=>i*(on-$e[e-1])),s=o.every(i=>i===1)?n[0]:0;for(let i=e-1;i>=0;i--){let a=$e[i]-(i>0?$e[i-1]:0),c=1;t.forEach(({probabilities:u},l)=>{r[l]>0&&(o[l]+=u[i]/r[l]),n[l]+=a*o[l],c*=o[l]}),s+=a*c}return{minMs:s,regretsMs:n.map(i=>Math.max(0,i-s))}}function Ox(t){let e=0;for(let r=t.length-1;r>=0;r--)e+=t[r];return e}function j2({hazard:t,noneShorter:e,n:r}){let o=zx*Math.exp(-t),n=e*t,s=1;for(;2*s<r&&(n*=t*t/((2*s-1)*2*s))>o;)s++;return s}var H2=new Map;function K2(t){return zr(H2,t,()=>Array.from({length:t},(e,r)=>{let o=Math.cos(Math.PI*(r+.75)/(t+.5));for(let n=0;;n++){let[s,i]=[0,1];for(let u=1;u<=t;u++)[s,i]=[i,((2*u-1)*o*i-(u-1)*s)/u];let a=t*(o*i-s)/(o*o-1),c=i/a;if(Math.abs(c)<1e-15||n===20)return{at:(1+o)/2,weight:1/((1-o*o)*a*a)};o-=c}}))}var Mx={v1:{byteBase:10,roleNames:Nh,opens:t=>t<10&&t!==3&&t!==4,fieldOf(t){return t===1?"source":t===2?"destination":t===5?"result":"time"}},v2:{byteBase:11,roleNames:os,opens:t=>t<11,fieldOf(t){return t===1||t===2?"source":t===3||t===4?"destination":t===8||t===10?"result":"time"}}};var $x=zt({first:0,last:255}),G2=[zt({first:0,last:0}),zt({first:0,last:31})],V2=zt({first:1,last:255}),W2=Y.map(t=>11+t),Y2=new Map(Y.map(t=>[t,ni(t).map(e=>11+e)])),Px=[{field:"source",token:1,numBytes:4},{field:"source",token:2,numBytes:16},{field:"destination",token:3,numBytes:4},{field:"destination",token:4,numBytes:16},{field:"result",token:8,numBytes:2},{field:"result",token:10,numBytes:0},{field:"time",token:5,numBytes:8},{field:"time",token:6,numBytes:1},{field:"time",token:7,numBytes:4}],Fr=class{#e=new Set(["source","destination","result","time"]);#t;#r=0;#o=0;#n=[];#s=0;#a=!1;constructor(e){this.#t=e}get isComplete(){return this.#a||this.#e.size===0&&this.#s===0}allowed(){return this.isComplete?[]:this.#s>0?this.#c():this.#i()}push(e){if(this.#s>0){this.#s--,this.#n.push(e-11);return}if(e===0){this.#a=!0;return}let r=Px.find(o=>o.token===e);b(r&&this.#e.delete(r.field),`token ${e}`),this.#o=e,this.#n=[],this.#s=r.numBytes,(r.field==="source"||r.field==="destination")&&(this.#r=r.numBytes)}#i(){let r=Px.filter(({field:n,token:s,numBytes:i})=>this.#e.has(n)?n==="time"?this.#t===(s!==5):n==="result"||this.#r===0||this.#r===i:!1).map(({token:n})=>n);return this.#e.size===1&&this.#e.has("time")?[...r,0]:r}#c(){let e=this.#n;return this.#o===8?e.length===0?W2:Y2.get(e[0])??[]:this.#o===5?G2[e.length]??$x:this.#o===7&&e.length===2&&e[0]+e[1]===0?V2:$x}};var $u=new Set([5,6,7]),Ix=I({meanBits:v().describe("mean over the orders"),spreadBits:v().describe("standard deviation over the orders; 0 for a consistent model"),totalBits:v().describe("-log2 P(measurement), whatever the order"),orders:U(I({order:O().describe("the fields, separated by commas"),bits:v().describe("-log2 P(measurement, order)"),blockBits:Lt(O(),v()).describe("by field")}))});function Rx({meanBits:t,spreadBits:e,totalBits:r,orders:o}){let n=o.map(({blocks:s,bits:i})=>({order:s.map(({field:a})=>a).join(),bits:i,blockBits:Object.fromEntries(s.map(({field:a,bits:c})=>[a,c]))}));return{meanBits:t,spreadBits:e,totalBits:r,orders:n}}function J2(t){return t?vo:vo.filter(e=>e[3]==="time").map(e=>e.slice(0,3))}async function Nx(t,e,r={}){let o=e.map(s=>X2(t,s,r.order)),n=await t1(t,o);return o.map(({orders:s})=>n1(s.map(i=>o1(i,n.get(i)??[]))))}function X2(t,e,r){let{config:o}=t,n=e1(e.measurement,r),s=Q2(e,n[0],o),i=s.lastIndexOf(0)+1,{opens:a}=Mx[o.vocabulary],c=[...s.keys()].filter(d=>d>=i&&a(s[d])),u=new Map(n[0].map((d,p)=>[d,[...s.subarray(c[p],c[p+1])]])),{rttCode:l}=e.measurement,f=l===null?void 0:t.pooled({...e.measurement,context:e.context});return{prompt:s.subarray(0,i),orders:n.map(d=>{let p=d.map(h=>u.get(h)??[]);return{pool:d[d.length-1]==="result"?f:void 0,rttCode:l,order:d,lengths:p.map(({length:h})=>h),tokens:Uint16Array.from(p.flat())}})}}function Q2({measurement:t,rttMs:e,context:r},o,n){let s=ys(n);if(!s)return sn(t,{context:r,order:o,sequenceLength:n.sequenceLength});b(e!==void 0&&r.length===0,"vocabulary v1 takes RTTs, and no context");let i={...t,rttMs:e},a=new Uint16Array(Er(i));return new Ar(a,Qn(s)).writeFields(i,o),a}function e1({timeS:t},e){return e?[t===null?e.filter(r=>r!=="time"):e]:J2(t!==null)}async function t1(t,e){let r=new Map(e.flatMap(({orders:i})=>i.map(({tokens:a,pool:c})=>[a,c]))),o=[...Map.groupBy(e,({prompt:i})=>i.join()).values()].map(i=>({prompt:i[0].prompt,orders:i.flatMap(({orders:a})=>a)})),n=await t.decoders.continuationLogProbabilities(o.map(({prompt:i,orders:a})=>({prompt:i,continuations:a.map(({tokens:c})=>c)})),t.config.vocabulary==="v2"?(i,a)=>r1(i,a,r.get(i)):void 0),s=o.flatMap(({orders:i})=>i);return new Map(s.map((i,a)=>{let c=[...n[a]];if(i.pool&&i.rttCode!==null){let[u,l]=c.splice(-2),{ofFirst:f,ofCode:d}=vu(i.rttCode,i.pool,[u,l]);c.push(f,d-f)}return[i,c.map(u=>-u/Math.LN2)]}))}function r1(t,e,r){let o=t.some(i=>$u.has(i)),n=new Fr(e.some(i=>$u.has(i))),s=i=>i!==0&&(o||!$u.has(i));return Array.from(t,(i,a)=>{let c=n.allowed().filter(s);return n.push(i),r&&a===t.length-2?bu(r):c})}function o1({order:t,lengths:e},r){let o=0;return{blocks:t.map((s,i)=>{let a=r.slice(o,o+=e[i]);return{field:s,tokenBits:a,bits:dn(a)}}),bits:dn(r)}}function n1(t){let e=t.map(({bits:i})=>i),r=dn(e)/e.length,o=Math.sqrt(dn(e.map(i=>(i-r)**2))/e.length),n=Math.min(...e),s=n-Math.log2(dn(e.map(i=>2**(n-i))));return{orders:t,meanBits:r,spreadBits:o,totalBits:s}}function dn(t){return t.reduce((e,r)=>e+r,0)}function pn(t){return Pu(t)}function Pu(t){return Array.isArray(t)?t.map(Pu):typeof t!="object"||t===null?t:Object.fromEntries(Object.entries(t).map(([e,r])=>[Lx(e),Pu(r)]))}function Lx(t){return t.replace(/[A-Z]/g,e=>`_${e.toLowerCase()}`)}function jr({shape:t}){let e=Object.entries(t).map(([r,o])=>[Lx(r),yi(o)]);return Object.fromEntries(e)}function yi(t){let e=t;t instanceof Rt?e=I(jr(t)):t instanceof Fa?e=U(yi(t.element)):t instanceof Ht?e=Hn(yi(t.unwrap())):t instanceof go&&(e=Kn(yi(t.unwrap())));let r=Ge.get(t);return e!==t&&r&&Ge.add(e,r),e}function lr(t){let e=`expected only ${Object.keys(t).join(", ")}`;return Nt(t,{error:({code:r})=>r==="unrecognized_keys"?e:void 0})}var Hr=O({error:"expected an IPv4 or IPv6 address"}),Cx=Hr.describe("source: an address or prefix"),s1=Hr.describe("destination: an address or prefix"),vi=Ha([O(),v()]).nullish().describe("when: Unix seconds or ISO 8601 (any time)"),Si=v().nullable(),ki=lr({src_addr:Hr,dst_addr:Hr,timestamp:vi,rtt:v().min(0).nullable().describe("ms; null: no reply")}),Ei=U(ki).optional().describe("recent measurements, in any order"),Dx=lr(Mu.shape),Bx={draws:P().min(2).max(2**12).optional().describe("addresses, or pairs of them, drawn from prefixes (64)"),seed:P().min(0).max(2**32-1).optional().describe("seed of these draws (0)")},Ux=lr({src_addr:Cx,dst_addr:s1,timestamp:vi,context:Ei,...Mu.shape,...Bx}),SC=I({src_addr:O(),dst_addr:O(),timestamp:Si,context_measurements:P().describe("how many of the context were used"),...jr(Sx),basis:As.describe("what the answer rests on: how often the addresses and the pair were measured"),notes:U(O()).optional().describe("for people"),step:P().describe("the model's steps of training")}),kC=I({line:P(),error:O()}),Zx=lr({src_addr:Hr.describe("source: an address"),rtt:mo([v().min(0),v().min(0)]).describe("the least and the greatest RTT, ms"),timestamp:vi,context:Ei,top:P().min(1).max(1e3).optional().describe("how many are listed (20)"),prefix_length:P().min(0).max(128).optional().describe("of the listed prefixes, which are sums over their addresses (that of an address)"),candidates:P().min(1).max(1024).optional().describe("how many likely destinations are ranked besides those that the source is known to measure (256)"),max_expansions:P().min(1).max(2**16).optional().describe("after how many prefixes the search for likely ones ends (512)")}),EC=I({src_addr:O(),rtt:mo([v(),v()]),timestamp:Si,prefix_length:P(),context_measurements:P(),...jr(mx),step:P()}),bi=256,qx=lr({src_addr:Cx,candidates:U(Hr).min(1).max(bi).describe("addresses or prefixes"),timestamp:vi,context:Ei,top:P().min(1).max(bi).optional().describe("how many are listed (5)"),by:Ne(Ex).optional().describe("what ranks them: the median RTT or the probability to be the nearest (median)"),...Bx}),AC=I({src_addr:O(),timestamp:Si,...jr(Ax),step:P()}),Fx=lr({...ki.shape,context:Ei}),jx={src_addr:O(),dst_addr:O(),timestamp:Si,rtt:v().nullable()},TC=I({...jx,...jr(Ix),step:P()}),zC=I({...jx,log_likelihood:v().describe("nats"),p_value:v().describe("P(a result at most as probable)")}),Hx=lr({context:wo.number().int().min(0).max(1e3).optional().describe("how many earlier lines of the same source a line sees, at most (20)"),seed:wo.number().int().min(0).max(2**32-1).optional().describe("seed of p-values (0)")}),Iu=I({version:O(),step:P(),num_parameters:P(),vocabulary:O(),model_sha256:O().describe("the checkpoint's weights: SHA-256, hexadecimal"),data_fingerprint:O().describe("of the probe rows that it was trained on"),trained_tokens:P().describe("of all its training steps, padding included"),config:Lt(O(),po()).describe("the run's whole configuration: model, optim, data, train"),is_calibrated:ot(),data:Ym.nullable().describe("the training data; null if the checkpoint does not say"),training_curve:U(I({step:P(),train_loss:v().nullable(),eval_loss:v().nullable()})).describe("some hundred points at most, nats per token"),evaluation:I({num_measurements:P(),split:O(),num_training:P().describe("measurements of the training split, as far as they were counted"),methods:U(I({name:O(),median_absolute_ms:v(),mean_absolute_ms:v(),crps_ms:v().nullable()})).describe("the model first, then the methods without a model")}).nullable().describe("from an evaluation's report.json; null where there is none")}),OC=I({...Iu.shape,adapter:O().describe("the GPU or software driver that it runs on"),examples:U(I({src_addr:O(),dst_addr:O()})).describe("pairs of addresses that the model draws, to begin with")}),MC=I({type:O(),title:O(),status:P(),detail:O().describe("the line that a stage would print")});var i1=["f32","f16"],a1=I({formatVersion:P().optional(),model:Iu,calibration:U(v()).nullable(),dtype:Ne(i1),weights:U(I({path:O(),sizeBytes:P().min(1),sha256:O().regex(/^[0-9a-f]{64}$/)})).min(1)});function Kx(t,e){try{let r=Th({}).parse(JSON.parse(t));return Di(r.formatVersion,e),a1.parse(r)}catch(r){throw r instanceof y?r:new K("it does not describe a model of this version; run deno task export again",{path:e,cause:r})}}var fr=8,c1=1e8,Gx="__metadata__",u1=I({dtype:O(),shape:U(v().int().nonnegative()),data_offsets:mo([v().int().nonnegative(),v().int().nonnegative()])}),l1=Lt(O(),O()),Ru={F32:4,F16:2};function f1(t,{path:e,sizeBytes:r}){if(r<fr)throw new K(`the file ends, expected ${fr} bytes of header length`,{path:e,offsetBytes:r});let o=new DataView(t.buffer,t.byteOffset).getBigUint64(0,!0);if(o>BigInt(Math.min(c1,r-fr))){let n=`the header's stated size is ${o} bytes, the file has ${r}`;throw new K(`${n}; it is truncated or not a safetensors file`,{path:e,offsetBytes:0})}return Number(o)}function d1(t,e){let{buffer:r,byteOffset:o,byteLength:n}=t,s=n/Ru[e];return e==="F16"?Float32Array.from(new Float16Array(r,o,s)):new Float32Array(r,o,s)}function Vx(t,e){let r={path:e,sizeBytes:t.length},o=fr+f1(t,r),{entries:n}=p1(t.subarray(fr,o),r);return new Map([...n].map(([s,{dtype:i,begin:a,end:c}])=>{let l=(o+a)%Ru[i]===0?t.subarray(o+a,o+c):t.slice(o+a,o+c);return[s,d1(l,i)]}))}function p1(t,e){let r=h1(t,e.path);return g1(r.entries,{...e,dataOffsetBytes:fr+t.length}),r}function h1(t,e){let r={path:e,offsetBytes:fr},o;try{o=JSON.parse(new TextDecoder("utf-8",{fatal:!0}).decode(t))}catch(c){throw new K("the header is not JSON; it is damaged or not a safetensors file",{...r,cause:c})}if(t[0]!==123||typeof o!="object"||o===null)throw new K("the header does not start with {, expected a JSON object",r);let{[Gx]:n={},...s}=o,i=l1.safeParse(n);if(!i.success)throw new K(`${Gx} is not text to text`,r);let a=Object.entries(s).map(([c,u])=>[c,m1(c,u,r)]);return a.sort(([,c],[,u])=>c.begin-u.begin||c.end-u.end),{entries:new Map(a),metadata:i.data}}function m1(t,e,r){let o=u1.safeParse(e);if(!o.success)throw new K(`tensor ${t} has an invalid or missing dtype, shape or data_offsets`,r);let{dtype:n,shape:s,data_offsets:[i,a]}=o.data;if(n!=="F32"&&n!=="F16")throw new K(`tensor ${t} is ${n}, expected F32 or F16; convert it`,r);let c=Ru[n]*w1(s);if(a-i!==c){let u=`tensor ${t} of shape [${s}] has ${a-i} bytes`;throw new K(`${u}, expected ${c}`,r)}return{shape:s,dtype:n,begin:i,end:a}}function g1(t,{path:e,dataOffsetBytes:r,sizeBytes:o}){let n=0;for(let[s,{begin:i,end:a}]of t){if(i!==n){let c=i<n?"overlaps the tensor before it":"leaves a gap before it";throw new K(`tensor ${s} ${c}`,{path:e,offsetBytes:r+i})}n=a}if(r+n!==o){let s=r+n,i=s>o?"it is truncated":"it has bytes that no tensor owns";throw new K(`the file has ${o} bytes, expected ${s}; ${i}`,{path:e,offsetBytes:Math.min(s,o)})}}function w1(t){return t.reduce((e,r)=>e*r,1)}var _1="ping-llm weights",Ai=class{#e;constructor(e){this.#e=new URL(".",e)}async get(e){let r=await(await this.#o())?.match(this.#r(e));return r&&new Uint8Array(await r.arrayBuffer())}async put(e,r){let o=await this.#o();if(!o)return;let n=this.#r(e);for(let{url:i}of await o.keys())new URL(i).pathname===n.pathname&&await o.delete(i);let s={"content-length":String(r.length)};try{await o.put(n,new Response(r,{headers:s}))}catch(i){if(!(i instanceof DOMException))throw i}}async sizeBytes(){let e=await this.#o(),r=0;for(let o of await this.#t(e))r+=Number((await e?.match(o))?.headers.get("content-length")??0);return r}async delete(){let e=await this.#o();for(let r of await this.#t(e))await e?.delete(r)}async#t(e){return(await e?.keys()??[]).filter(({url:r})=>new URL(".",r).href===this.#e.href)}#r({path:e,sha256:r}){return new URL(`${e}?sha256=${r}`,this.#e)}async#o(){try{return await caches.open(_1)}catch{return}}};var x1={400:"Bad Request",404:"Not Found",405:"Method Not Allowed",408:"Request Timeout",413:"Content Too Large",415:"Unsupported Media Type",421:"Misdirected Request",429:"Too Many Requests",431:"Request Header Fields Too Large",500:"Internal Server Error",503:"Service Unavailable"},y1=["AbortError","TimeoutError"],Wx="Cannot answer: the request was ended before its answer was there; ask again",qe=class extends Error{name="ApiError";problem;constructor(e,r,o){super(r,o),this.problem={type:"about:blank",title:x1[e],status:e,detail:r}}};function Ti(t){return b1(t).problem}function b1(t){return t instanceof qe?t:t instanceof Wr?new qe(503,Wx):t instanceof y?new qe(400,Yx(t.message)):t instanceof Fn?new qe(400,Yx(Nu(t))):t instanceof DOMException&&y1.includes(t.name)?new qe(503,Wx):new qe(500,"Cannot answer: an error of the server, not of the request; its log says more")}async function Kr(t){try{return await t()}catch(e){throw!(e instanceof y)||e instanceof Wr?e:new Error(`Internal error: ${e.message}`,{cause:e})}}function Yx(t){return t.startsWith("Cannot ")?t:`Cannot answer: ${t}`}function Nu({issues:[t]},e){let{path:r}=t,o=r.map((i,a)=>typeof i=="number"?`[${i}]`:`${a>0?".":""}${String(i)}`).join("");if(t.code==="unrecognized_keys"){let i=dt(t.keys[0]);return`found ${o===""?i:`${i} in ${o}`}, ${t.message}`}let n=Xx(t);if(!e)return o===""?n:`${o}: ${n}`;let s=r.reduce(v1,e.value);return s===void 0?`found no ${o||"value"}, ${n}`:`found ${o===""?"":`${o} `}${dt(s)}, ${n}`}function v1(t,e){return typeof t=="object"&&t!==null?Reflect.get(t,e):void 0}var S1={string:"expected text",number:"expected a number",int:"expected a whole number",array:"expected an array",tuple:"expected an array",object:"expected a JSON object"};function Xx(t){return t.message.startsWith("expected ")?t.message:t.code==="invalid_type"?S1[t.expected]??`expected ${t.expected}`:t.code==="invalid_union"?`expected ${t.errors.map(([r])=>Xx(r).replace(/^expected /,"")).join(" or ")}`:t.code==="too_small"?`expected at least ${Jx(t.origin,t.minimum)}`:t.code==="too_big"?`expected at most ${Jx(t.origin,t.maximum)}`:t.message}function Jx(t,e){return t!=="array"?String(e):e===1?"1 value":`${e} values`}var k1=[["src","src_addr"],["dst","dst_addr"],["time","timestamp"]];function Ot(t,e){let r=Qx(e),{success:o,data:n,error:s}=t.safeParse(r);if(o)return n;throw new y(Nu(s,{value:r}))}function Qx(t){if(typeof t!="object"||t===null||Array.isArray(t))return t;let e=new Map(Object.entries(t));for(let[o,n]of k1)if(e.has(o)){if(e.has(n))throw new y(`found ${o} and ${n}, expected one of the two`);e.set(n,e.get(o)),e.delete(o)}let r=e.get("context");return Array.isArray(r)&&e.set("context",r.map(Qx)),Object.fromEntries(e)}function Lu(t,e={}){let{src_addr:r,dst_addr:o,timestamp:n,context:s,draws:i,seed:a,...c}=Ot(Ux,t),u=cn(Du({src_addr:r,dst_addr:o,timestamp:n,context:s}));return{query:{src:r,dst:o,...u},wanted:{...e,...c},draws:{numDraws:i,seed:a}}}function ey(t,e){let{candidates:r,context:o,top:n,by:s,draws:i,seed:a,...c}=Ot(qx,e),u=null;return{queries:r.map((f,d)=>{try{let p=cn(Du({...c,dst_addr:f,...d===0&&{context:o}}));d===0&&(u=p.context);let h={line:d+1,src:c.src_addr,dst:f,...p,context:u};return fn(t,h,[]).query}catch(p){throw p instanceof y?new y(`candidate ${d+1}: ${p.message}`):p}}),options:{top:n??5,by:s??"median",numDraws:i,seed:a}}}function Cu(t){let{src_addr:e}=t,{source:r,timeS:o,context:n}=cn(Du({...t,dst_addr:e}));if(!ee(r))throw new y(`found src_addr ${dt(e)}, expected an IPv4 or IPv6 address${Lo(e)}`);return{source:r.bytes,timeS:o,context:n??[]}}function zi(t){return un(ty(t))}function Du({src_addr:t,dst_addr:e,timestamp:r,context:o}){return{src:t,dst:e,time:r,context:o?.map(ty)}}function ty({src_addr:t,dst_addr:e,timestamp:r,rtt:o}){return{src:t,dst:e,rtt:o,...r!==void 0&&{time:r}}}async function*ry(t,e,r){let o=A1(e,t.config.sequenceLength),{count:n}=r,s=i=>new Bu(o,i,r);for await(let i of di(t.decoders,o.tokens,{count:n,begin:s}))yield i.measurement()}function E1(t,e){let{context:r}=t,o=t.source??t.destination??new Uint8Array(16),n=r.findLast(({timeS:i})=>i!==null)?.timeS??null,s=n===null?0:n+256;return Tt({source:o,destination:o,timeS:s,context:r},e)}function A1(t,e){let{source:r,destination:o,timeS:n}=t;if(r&&o&&r.length!==o.length)throw new y("Cannot sample between addresses of different versions: expected two addresses of one version");let s=new Uint16Array(e+1),i=new at(s),a=E1(t,e);ku(a,n);for(let m of a)i.write(m,yt);let{at:c,previousTimeS:u}=i,l={source:r!==void 0,destination:o!==void 0,time:n!==null},f=r??o??new Uint8Array(4),d={source:r??f,destination:o??f,rttCode:null,timeS:n},p=["source","destination","time"];i.write(d,[...p.filter(m=>l[m]),...p.filter(m=>!l[m]),"result"]);let g=(Number(l.source)+Number(l.destination))*(1+f.length)+So(n,u);return{tokens:s.slice(0,c+1+g),start:c,hasEarlierTime:u!==null}}var Bu=class{#e;#t;#r;#o;#n;constructor({tokens:e,start:r,hasEarlierTime:o},n,{seed:s,temperature:i=1,topK:a=1/0}){this.#e=[...e],this.#t=new Fr(o);for(let c of e.subarray(r+1))this.#t.push(c);this.#r=new Ye(s,"query/sample",n),this.#o=i,this.#n=a}get isComplete(){return this.#t.isComplete}get lastToken(){return this.#e[this.#e.length-1]}draw(e){if(this.isComplete)return;let r=this.#t.allowed(),o=r.length<=this.#n?r:r.toSorted((s,i)=>e[i]-e[s]).slice(0,this.#n),n=fi(e,{tokens:o,random:this.#r,temperature:this.#o});this.#t.push(n),n!==0&&this.#e.push(n)}measurement(){let e=om(Uint16Array.from(this.#e)).at(-1);return b(e,"a sample has a measurement"),e}};var Gr=class{#e=new Map;#t=0;get length(){return this.#t}get numLanes(){return this.#e.size}push(e,r){let o=this.#e.get(r);o?o.push(e):this.#e.set(r,[e]),this.#t++}take(){let e=this.#e.entries().next();if(e.done)return;let[r,o]=e.value,n=o.shift();return this.#e.delete(r),o.length>0&&this.#e.set(r,o),this.#t--,n}remove(e,r){let o=this.#e.get(r),n=o?.indexOf(e)??-1;!o||n<0||(o.splice(n,1),o.length===0&&this.#e.delete(r),this.#t--)}};var Uu=1024;function Zu(t){return new qe(429,`Cannot answer: ${t} requests wait already; ask again in a second`)}var Oi=class{#e;#t;#r=new Gr;#o=!1;#n=1;#s;constructor(e,r={}){this.#e=e,this.#t={maxBatch:62,maxWaitMs:10,maxQueue:Uu,onBatch:()=>{},...r}}get queueLength(){return this.#r.length}async ask(e,r,{lane:o,signal:n}={}){if(n?.throwIfAborted(),ve(e,this.#e.config.sequenceLength),!o&&this.#r.numLanes>=this.#t.maxQueue)throw Zu(this.#t.maxQueue);let{promise:s,resolve:i,reject:a}=Promise.withResolvers(),c=o??{},u={query:e,settle(f){try{i(r(f))}catch(d){a(d)}},fail:a},l=()=>{this.#r.remove(u,c),a(n?.reason)};n?.addEventListener("abort",l),this.#r.push(u,c),this.#a();try{return await s}finally{n?.removeEventListener("abort",l)}}#a(){if(this.#o||this.#r.length===0)return;let{maxBatch:e,maxWaitMs:r}=this.#t,o=this.#r.length>=Math.min(this.#n,e);if(this.#s&&(this.#s.isLast||!o))return;clearTimeout(this.#s?.id);let n=setTimeout(()=>void this.#i(),o?0:r);this.#s={id:n,isLast:o}}async#i(){this.#s=void 0;let e=[];for(;e.length<this.#t.maxBatch;){let r=this.#r.take();if(!r)break;e.push(r)}if(e.length!==0){this.#o=!0,this.#n=e.length,this.#t.onBatch(e.length);try{let r=e.map(({query:o})=>o);await Kr(()=>this.#e.likelyRttDistributions(r,(o,n)=>e[n].settle(o)))}catch(r){for(let o of e)o.fail(r)}this.#o=!1,this.#r.length>=this.#t.maxBatch&&this.#i(),this.#a()}}};async function*qu(t){let e=0;for(let r of t)yield{line:++e,read:()=>r}}async function*Fu(t){let e=0;for await(let r of t)e++,r.trim()!==""&&(yield{line:e,read:()=>T1(r)})}async function ju(t){return await Array.fromAsync(t,e=>"error"in e?e:e.answer)}async function*Hu(t){for await(let e of t)yield"error"in e?e:{line:e.line,...e.answer}}function T1(t){try{return JSON.parse(t)}catch(e){throw e instanceof SyntaxError?new y("found no JSON, expected a JSON object",{cause:e}):e}}var z1=65536,O1=256,Mi=class{maxContext;sequenceLength;maxKept;#e;#t;#r;#o;#n;#s;constructor(e,r=1/0,o=z1){this.maxContext=e,this.sequenceLength=r,this.maxKept=o,this.#e=[],this.#t=new Map,this.#r=new Map,this.#o=0,this.#n=0,this.#s=[]}get numKept(){return this.#o+this.#s.length}clear(){this.#e=[],this.#s=[],this.#t.clear(),this.#r.clear(),this.#o=0}add(e,r,o){this.maxContext!==0&&(this.#a(r),this.#s.push({pair:e,order:this.#n++,timeUs:r,measurement:o,isDropped:!1}))}contextOf(e,r,o=this.maxContext){this.#a(r);let n=o===0?[]:this.#t.get(e)?.slice(-o)??[];for(let s=this.#e.length-1;s>=0&&n.length<o;s--){let i=this.#e[s];!i.isDropped&&i.pair!==e&&n.push(i)}return n.sort((s,i)=>s.order-i.order).map(({measurement:s})=>s)}growingContextOf(e,r,o){this.#a(r);let n=this.#r.get(e),s=this.#t.get(e)?.filter(({order:c})=>c>=(n?.endOrder??0))??[],i=n?[...n.context,...s.map(({measurement:c})=>c)]:[];if(!n||i.length>this.maxContext||oy([...i,o])>this.sequenceLength)for(i=this.contextOf(e,r,Math.ceil(this.maxContext/2));oy(i)>this.sequenceLength/2;)i.shift();let a=this.#t.get(e)?.at(-1);return this.maxContext>0&&this.#r.set(e,{context:i,endOrder:(a?.order??-1)+1}),i}#a(e){if(!(this.#s.length===0||this.#s[0].timeUs>=e)){for(let r of this.#s)this.#i(r);this.#s=[],this.#e.length>2*this.#o+O1&&(this.#e=this.#e.filter(({isDropped:r})=>!r))}}#i(e){let r=this.#t.get(e.pair)??[];r.push(e)===1&&this.#t.set(e.pair,r),this.#e.push(e),this.#o++,r.length>this.maxContext?this.#c(r[0]):this.#o>this.maxKept&&this.#c(this.#e.find(({isDropped:o})=>!o))}#c(e){if(!e)return;let r=this.#t.get(e.pair);r?.shift(),r?.length===0&&(this.#t.delete(e.pair),this.#r.delete(e.pair)),e.isDropped=!0,this.#o--}};function oy(t){let e=null;return t.reduce((r,o)=>{let n=it(o,e);return e=o.timeS??e,r+n},0)}function ny({source:t,destination:e}){return`${t} ${e}`}var M1=.01,$i=Y.map(ni),sy=$i.map(({length:t})=>t),dr=new Float64Array(rt[Y.length]),Ku=class{logLikelihood;needed;#e;#t=new Map;#r=0;#o=0;#n=0;constructor(e,{outcome:r,first:o,second:n},{pool:s,maxRelativeError:i=M1}={}){this.logLikelihood=Z_(e,{outcome:r,first:o,second:n},s);let a=nn(r);this.#e=si(o,s).map(u=>u*(1-a)),dr.fill(0),s?.addTo(dr);let c=e===null?-1:Y.indexOf(e>>8);if(e===null)this.#r=a;else{let{probabilities:u}=At(n,$i[c]);this.#r=this.#e[c]*u[$i[c].indexOf(e&255)]+dr[tt(e)]*(1-a),s&&this.#s(c,a),this.addSecondBytes(c,n)}this.#a(a),this.needed=this.#i(c,a,i),s&&this.needed.forEach(u=>this.#s(u,a))}addSecondBytes(e,r){let o=this.#e[e],n=this.#t.get(e),{probabilities:s}=At(r,$i[e]);s.forEach((i,a)=>this.#a(o*i+(n?.[a]??0)))}#s(e,r){let o=dr.slice(rt[e],rt[e+1]);this.#t.set(e,o.map(n=>n*(1-r)))}pValue(e){return Math.min(1,this.#o+this.#n*(1-e))}#a(e){e<this.#r?this.#o+=e:e===this.#r&&(this.#n+=e)}#i(e,r,o){let n=[];for(let a=0;a<this.#e.length;a++){if(a===e)continue;let c=0,u=0;for(let f=rt[a];f<rt[a+1];f++)c+=dr[f],dr[f]>u&&(u=dr[f]);let l=this.#e[a]+c*(1-r);this.#e[a]+u*(1-r)<this.#r?this.#o+=l:n.push({index:a,mass:l,most:Math.min(l,sy[a]*this.#r)})}n.sort((a,c)=>a.most-c.most||a.index-c.index);let s=o*this.#o,i=0;for(;i<n.length&&n[i].most<=s;){let{index:a,mass:c,most:u}=n[i++];s-=u,c<sy[a]*this.#r&&(this.#o+=c)}return n.slice(i).map(({index:a})=>a).sort((a,c)=>a-c)}},iy=16,ay=2**32;async function uy(t,e,r){let o=[],n=[],s=0,i=0,a=P1(e,t.config.sequenceLength),c=a.map(({tokens:u})=>I1(u,t.config.sequenceLength));return await t.decoders.withPrompts(c,1,async(u,l,f)=>{let d=a.slice(f,f+l.length);i+=l.reduce((_,{length:S})=>_+S,0);let p=d.flatMap(_=>_.numbers),h=p.map(_=>e[_]),g=await R1(t,u,l,{part:h,ends:d.map(({ends:_})=>_),...r}),m=N1(g,h,u.extent.maxRows).map(_=>(s+=_.bytes.length,L1(u,g,_))),w=Promise.all(m.toArray()).then(()=>g.forEach((_,S)=>o[p[S]]=$1(_,h[S].number,r.seed)));w.catch(()=>{}),n.push(w)}),await Promise.all(n),{scores:o,numExpanded:s,numTokens:i}}function $1(t,e,r){let o=new Ye(r,"score/p-value",e%ay,Math.floor(e/ay));return{logLikelihood:t.logLikelihood,pValue:t.pValue(o.float64())}}function P1(t,e){let r=[],o=new Map;return t.forEach(({measurement:n,context:s},i)=>{let{rttCode:a}=n,c=ve({...n,context:s},e),u=a===null?[10]:[8,11+(a>>8),11+(a&255)],l=Uint16Array.from([...c,...u]),f=cy(c.subarray(0,c.lastIndexOf(0))),d=s.length>0?o.get(f):void 0;o.delete(f),d||r.push(d={tokens:l,ends:[],numbers:[]}),d.tokens=l.subarray(0,c.length+Math.min(u.length,2)),d.ends.push(d.tokens.length),d.numbers.push(i),o.set(cy(l),d)}),r}function I1(t,e){let r=new Uint16Array(Math.min(Math.ceil(t.length/iy)*iy,e));return r.set(t),r}function cy(t){return String.fromCharCode(...t)}async function R1(t,e,r,{part:o,ends:n,maxRelativeError:s}){let i=J(e.config),a=o.flatMap(({measurement:d},p)=>d.rttCode===null?[p]:[]),[c,u]=await Promise.all([e.prefill(r,{numLast:3,ends:n}),ly(e,o.length,{prompts:a,steps:[a.map(()=>8)]})]),l=0,f=o.map(({measurement:d,context:p},h)=>{let{rttCode:g}=d,[m,w,_]=[0,1,2].map(k=>ie(c,3*h+k,i)),S=g===null?{outcome:w,first:ie(u,l++,i),second:_}:{outcome:m,first:w,second:_},E=t.pooled({...d,context:p});return new Ku(g,S,{pool:E,maxRelativeError:s})});return e.registry.gpu.recycle(c,u),f}function*N1(t,e,r){for(let o of[!1,!0]){let n=t.flatMap(({needed:s},i)=>e[i].measurement.rttCode===null===o?s.map(a=>({prompt:i,index:a})):[]);for(let s=0;s<n.length;s+=r)yield{bytes:n.slice(s,s+r),areFailed:o}}}async function L1(t,e,{bytes:r,areFailed:o}){let n=J(t.config),s=o?[r.map(()=>8)]:[],i=await ly(t,e.length,{prompts:r.map(({prompt:a})=>a),steps:[...s,r.map(({index:a})=>11+Y[a])]});r.forEach(({prompt:a,index:c},u)=>e[a].addSecondBytes(c,ie(i,u,n))),t.registry.gpu.recycle(i)}async function ly(t,e,{prompts:r,steps:o}){if(r.length===0)return new Float32Array;let n=Array.from({length:e},()=>0);for(let i of r)n[i]++;t.fork(n,{numDropped:1});let s=await Promise.all(o.map(i=>t.step(i)));return t.registry.gpu.recycle(...s.slice(0,-1)),s[o.length-1]}var C1=2**14,Gu=class{maxContext;sequenceLength;maxKept;#e;#t;constructor(e,r=1/0,o=C1){this.maxContext=e,this.sequenceLength=r,this.maxKept=o,this.#e=new Map,this.#t=0}get numKept(){return this.#t}contextOf(e,r){let{source:o,timeS:n}=e,s=`${o} ${n===null}`,i=this.#e.get(s)??{history:new Mi(this.maxContext,this.sequenceLength,this.maxKept/2),newestUs:0},{history:a}=i,c=D1(r)??i.newestUs+1,u=c<i.newestUs;i.newestUs=Math.max(i.newestUs,c);let l=ny(e),f=(u?a.contextOf(l,i.newestUs):a.growingContextOf(l,i.newestUs,e)).filter(d=>(d.timeS??0)<=(n??0)).sort((d,p)=>(d.timeS??0)-(p.timeS??0));return this.#e.delete(s),this.#e.set(s,i),this.#t-=a.numKept,a.add(l,i.newestUs,e),this.#t+=a.numKept,this.#r(),f}#r(){for(let[e,{history:r}]of this.#e){if(this.#t<=this.maxKept)return;this.#t-=r.numKept,this.#e.delete(e)}}};function D1(t){let e=ui(String(t??""));return"timeUs"in e?e.timeUs:void 0}var B1=256;async function*dy(t,e,{context:r,seed:o,signal:n}){let s=new Gu(r,t.config.sequenceLength),i=[];for await(let a of e){let c=U1(a,s,t.config.sequenceLength);i.push(c),!(i.length<B1)&&(n?.throwIfAborted(),yield*fy(t,i,o),i=[])}n?.throwIfAborted(),yield*fy(t,i,o)}function U1({line:t,read:e},r,o){try{let n=Ot(ki,e()),s=zi(n),i=r.contextOf(s,n.timestamp);return ve({...s,context:i},o),{asked:n,case:{measurement:s,context:i,number:t-1}}}catch(n){if(n instanceof y)return{line:t,error:n.message};throw n}}async function*fy(t,e,r){let o=e.flatMap(i=>"error"in i?[]:[i.case]),{scores:n}=await Kr(()=>uy(t,o,{seed:r})),s=0;for(let i of e){if("error"in i){yield i;continue}let{asked:{src_addr:a,dst_addr:c,rtt:u},case:{measurement:l,number:f}}=i,{logLikelihood:d,pValue:p}=n[s++],h={src_addr:a,dst_addr:c,timestamp:l.timeS,rtt:u};yield{line:f+1,answer:{...h,log_likelihood:d,p_value:p}}}}function Z1(t,e){let{rtt:r,prefix_length:o,...n}=Ot(Zx,e),{src_addr:s,timestamp:i,context:a,top:c,candidates:u,max_expansions:l}=n,f={...Cu({src_addr:s,timestamp:i,context:a}),rttMs:r};mi(r);let d=gi(f,o),p=Tt({...f,destination:f.source},t.config.sequenceLength),h={src_addr:s,rtt:r,timestamp:f.timeS,prefix_length:d,context_measurements:p.length};return async g=>{let[m]=await wx(t,[f],{...c!==void 0&&{top:c},...u!==void 0&&{numCandidates:u},...l!==void 0&&{maxExpansions:l},prefixLength:d,signal:g});return{...h,...pn(gx(m,f.source,t)),step:t.step}}}var q1=8,F1=4,j1=.5;async function H1(t){let e=new Map,r={count:q1,seed:0,temperature:j1};for await(let{source:o,destination:n}of ry(t,{timeS:null,context:[]},r)){let s={src_addr:re(o),dst_addr:re(n)};e.set(`${s.src_addr} ${s.dst_addr}`,s)}return[...e.values()].slice(0,F1)}async function*K1(t,e,r){let o=t[Symbol.asyncIterator](),n=[],s,i=!1;try{for(;!i||n.length>0;){!i&&n.length<r&&(s??=o.next());let a=n[0],c=s?.then(f=>({next:f})),u=a?.then(f=>({value:f})),l=await Promise.race([u,c].filter(f=>f!==void 0));if("value"in l){n.shift(),yield l.value;continue}s=void 0,l.next.done?i=!0:n.push(G1(e(l.next.value)))}}finally{let a=o.return?.();s?a?.catch(()=>{}):await a}}function G1(t){return t.catch(()=>{}),t}var Vu=class{maxQueue;#e;#t;constructor(e=Uu){this.maxQueue=e,this.#e=new Gr,this.#t=!1}get queueLength(){return this.#e.length}async run(e,{lane:r,signal:o}){o?.throwIfAborted(),this.#t&&await this.#r(r,o),this.#t=!0;try{return o?.throwIfAborted(),await e()}finally{let n=this.#e.take();n?n():this.#t=!1}}async#r(e,r){if(!e&&this.#e.numLanes>=this.maxQueue)throw Zu(this.maxQueue);let{promise:o,resolve:n,reject:s}=Promise.withResolvers(),i=e??{},a=()=>{this.#e.remove(n,i),s(r?.reason)};r?.addEventListener("abort",a),this.#e.push(n,i);try{await o}finally{r?.removeEventListener("abort",a)}}};function V1(t,e,{step:r,trainingData:o}){let{query:{src:n,dst:s,source:i,destination:a,timeS:c},answer:u,numContextUsed:l}=t,f=_i(t);return{src_addr:n,dst_addr:s,timestamp:c,context_measurements:l,...pn(xi(u,e)),basis:Ts(Es(o,i,a)),...f.length>0&&{notes:f},step:r}}var W1=124,Y1=20,Pi=class{#e;#t;#r;#o;#n;constructor(e,{info:r,batch:o={}}){this.#e=e,this.#t=r,this.#o=new Oi(e,o),this.#n=new Vu(o.maxQueue)}get queueLength(){return this.#o.queueLength+this.#n.queueLength}async rtt(e,r){return await this.#a(Lu(e),{signal:r})}async rttBatch(e,r){return await ju(this.#s(qu(py(e)),{},r))}rttLines(e,r={},o){return Hu(this.#s(Fu(e),r,o))}async destinations(e,r){let o=Z1(this.#e,e);return await this.#i(()=>o(r),{signal:r})}async nearest(e,r){let{queries:o,options:n}=ey(this.#e,e),s=()=>r?.throwIfAborted(),i={maxCandidates:bi,counted:"candidate",context:[]},a=await this.#i(()=>Tx(this.#e,o,{...n,...i,onDraws:s,onProgress:s}),{signal:r}),[{src:c,timeS:u}]=o;return{src_addr:c,timestamp:u,...pn(a),step:this.#e.step}}async likelihood(e,r){let{context:o,...n}=Ot(Fx,e),s=zi(n),{context:i}=Cu({...n,context:o});ve({...s,context:i},this.#e.config.sequenceLength);let a={measurement:s,rttMs:n.rtt,context:i},[c]=await this.#i(()=>Nx(this.#e,[a]),{signal:r});return{...n,timestamp:s.timeS,...pn(Rx(c)),step:this.#e.step}}async score(e,r={},o){return await ju(this.#c(qu(py(e)),r,o))}scoreLines(e,r={},o){return Hu(this.#c(Fu(e),r,o))}async model(){return this.#r??=this.#i(()=>H1(this.#e),{}).catch(e=>{throw this.#r=void 0,e}),{...this.#t,adapter:this.#e.gpu.info.name,examples:await this.#r}}async*#s(e,r,o){let n=Ot(Dx,r),s={lane:{},signal:o};yield*K1(e,async({line:a,read:c})=>{try{return{line:a,answer:await this.#a(Lu(c(),n),s)}}catch(u){if(!(u instanceof Error)||Ti(u).status!==400)throw u;return{line:a,error:u.message}}},W1)}async#a({query:e,wanted:r,draws:o},n){let s=this.#e,{first:i,...a}=fn(s,e,[]),c=f=>{let d={...a,numContextUsed:i.context.length,answer:f};return V1(d,r,s)};if(ee(e.source)&&ee(e.destination))return await this.#o.ask(i,f=>c(ln(f)),n);let u={...e,context:i.context},l=()=>n.signal?.throwIfAborted();return await this.#i(async()=>c(await wi(s,u,{...o,onProgress:l})),n)}async#i(e,r){return await this.#n.run(()=>Kr(e),r)}async*#c(e,r,o){let{context:n=Y1,seed:s=0}=Ot(Hx,r);yield*dy(this.#e,e,{context:n,seed:s,signal:o})}};function py(t){if(Array.isArray(t))return t;throw new qe(400,"Cannot answer: found no array, expected one")}var pt=[0,.01,.025,...Array.from({length:19},(t,e)=>Math.round(5*(e+1))/100),.975,.99,1],Ii=class t{#e;#t;constructor(e,r){b(hy(e),"shares of a calibration rise from 0 to 1"),this.#e=e,this.#t=r}static of(e){let r=e.below.length;return b(r>0,"a calibration needs measurements"),new t(pt.map((o,n)=>{if(n===0||n===pt.length-1)return o;let s=eA(e,[0,o]).reduce((i,a)=>i+a,0);return(o+s)/(r+1)}))}static parse(e,r){let{calibration:{shares:o},run:n}=X1(e,r);if(!hy(o)){let u=`expected ${pt.length} numbers that rise from 0 to 1`;throw new K(`its calibration is damaged, ${u}; run eval again with --overwrite`,{path:r})}let{checkpoint:s,step:i,modelSha256:a,isPooled:c}=n;return new t(o,{path:r,checkpoint:s,step:i,sha256:a,isPooled:c})}requireOf({directory:e,state:r},o){if(!this.#t)return;let{sha256:n}=r.files.model,{path:s,checkpoint:i,step:a}=this.#t;if(this.#t.sha256===n){if((this.#t.isPooled??!1)===o)return;let[u,l]=o?["the network alone","the pool"]:["the pool","the network alone"];throw new K(`it corrects ${u}, expected ${l}; run eval again ${o?"without":"with"} --no-pool`,{path:s})}let c=`it is of the model ${i} (step ${a}, SHA-256 ${this.#t.sha256.slice(0,12)}\u2026)`;throw new K(`${c}, expected one of ${e} (step ${r.step}, ${n.slice(0,12)}\u2026); run eval on that one`,{path:s})}get shares(){return this.#e}shareBelow(e){return Q1(pt,this.#e,e)}massOf({below:e,within:r}){let o=Math.min(1,e+r),n=pt.findIndex((a,c)=>a>e||c===pt.length-1);if(o>pt[n])return this.shareBelow(o)-this.shareBelow(e);let[s,i]=[pt[n-1],pt[n]];return r*(this.#e[n]-this.#e[n-1])/(i-s)}apply(e,r=new ft){let{pFailed:o,probabilities:n,canonicalMass:s,spreadMass:i}=e,{probabilities:a,cumulative:c}=r,u=0,l=0;for(let f=0;f<n.length;f++){u+=n[f];let d=this.shareBelow(Math.min(1,u));a[f]=d-l,l=d}return new qt(o,a,s,i,c)}},J1=I({run:I({checkpoint:O(),step:P(),modelSha256:O(),isPooled:ot().optional()}),calibration:I({shares:U(v())})});function X1(t,e){try{return J1.parse(JSON.parse(t))}catch(r){let o=r instanceof Fn&&r.issues.every(({path:[i]})=>i==="run"),n=o?"it does not say of which model it is":"it holds no calibration",s="expected the report.json of an eval whose data has a validation split";throw new K(`${n}, ${s}; run eval${o?" again with --overwrite":""}`,{path:e,cause:r})}}function hy(t){return t.length===pt.length&&t[0]===0&&t.at(-1)===1&&t.every((e,r)=>r===0||e>t[r-1])}function Q1(t,e,r){let o=1;for(;o<t.length-1&&t[o]<r;)o++;return e[o-1]+(r-t[o-1])/(t[o]-t[o-1])*(e[o]-e[o-1])}function eA({below:t,upTo:e},[r,o]){return t.map((n,s)=>{let i=e[s]-n;return i>0?Math.max(0,Math.min(o,e[s])-Math.max(r,n))/i:n>=r&&(n<o||o===1)?1:0})}var tA=new Set(Object.values(Xs));async function rA(t){let e=await gy(t,{cache:"no-cache"});return Kx(await e.text(),t.href)}async function oA(t,e,r){let o=new Ai(e),n=t.weights.reduce((f,{sizeBytes:d})=>f+d,0),s=new Map,i=0;for(let f of t.weights){let d=new URL(f.path,e),p=await nA(f,d,o,g=>r(i+g,n)),h=Qu(Vx(p,d.href),t.formatVersion,e.href);for(let[g,m]of h)s.set(g,m);i+=f.sizeBytes}let a=new Map([...s].filter(([f])=>tA.has(f))),{step:c,config:u,model_sha256:l}=t.model;return{directory:e.href,config:{model:yc(u.model)},state:{step:c,files:{model:{sha256:l}}},weights:new Map([...s].filter(([f])=>!a.has(f))),...a.size>0&&{pool:a}}}async function nA(t,e,r,o){o(0);let n=await r.get(t);if(n&&await my(n,t)===void 0)return n;let s=await sA(t,e,o),i=await my(s,t);if(i)throw new y(`Cannot use the model from ${e.href}: ${i}; load the page again, and if that does not help, export the site again and copy all of its files`);return await r.put(t,s),s}async function my(t,{sha256:e}){let r=new Uint8Array(await crypto.subtle.digest("SHA-256",t)),o=Array.from(r,n=>n.toString(16).padStart(2,"0")).join("");if(o!==e)return`its SHA-256 is ${o.slice(0,12)}\u2026, expected ${e.slice(0,12)}\u2026: it was damaged or replaced`}async function sA({sizeBytes:t},e,r){let{body:o}=await gy(e,{cache:"no-store"}),n=new Uint8Array(t),s=0,i=a=>new y(`Cannot use the model from ${e.href}: found ${a} bytes, expected ${t}; load the page again`);try{let a=o?.getReader();for(let c=await a?.read();c?.value;c=await a?.read()){if(s+c.value.length>t)throw i("more");n.set(c.value,s),s+=c.value.length,r(s)}}catch(a){throw a instanceof y?a:Wu(e,"the connection was lost",a)}if(s<t)throw i(String(s));return n}async function gy(t,e){let r;try{r=await fetch(t,e)}catch(o){throw Wu(t,"the server did not answer",o)}if(r.ok)return r;throw Wu(t,`the server answered ${r.status}`)}function Wu(t,e,r){return new y(`Cannot load ${t.href}: ${e}; check the connection and load the page again`,{cause:r})}var iA=2**28,aA={src:"192.0.2.1",dst:"192.0.2.2"},cA=100,wy=globalThis,Vr=t=>wy.postMessage(t),Yu=new Map,Ju;wy.onmessage=async({data:t})=>{t.kind==="abort"?Yu.get(t.id)?.abort():t.kind==="ask"?await pA(t):await uA(new URL(t.site))};async function uA(t){try{Ju=await lA(t),Vr({kind:"ready"})}catch(e){Vr({kind:"status",status:{state:"failed",message:_y(e,"run the model here")}})}}async function lA(t){let e=await fA(),r=await rA(t);dA(r,e);let o=-1/0,n=await oA(r,t,(i,a)=>{performance.now()-o<cA||(o=performance.now(),Vr({kind:"status",status:{state:"loading",loadedBytes:i,totalBytes:a}}))});Vr({kind:"status",status:{state:"starting"}});let s=await li.from(n,{memoryLimitBytes:iA,...r.calibration&&{calibration:new Ii(r.calibration)}});return await s.rttDistribution(aA),new Pi(s,{info:r.model})}async function fA(){let t=await navigator.gpu?.requestAdapter();if(t)return t;let e=globalThis.isSecureContext?navigator.gpu?"this browser gives no GPU to pages":"this browser has no WebGPU":"the page came neither by https nor from this machine, where browsers give pages no GPU",r=globalThis.isSecureContext?"open the page in a current Chrome, Edge, Firefox or Safari on a machine with a GPU":"open it with https";throw new y(`Cannot run the model here: ${e}, expected WebGPU; ${r}`)}function dA({model:{config:t}},e){let r=yc(t.model),o=Dr(s=>cr(r,s)),n=ir(e);if(!(o<=n))throw new y(`Cannot run the model here: its largest tensor has ${St(o)}, expected at most ${St(n)} on this GPU; open the page on a larger machine, or ask for a smaller model`)}async function pA({id:t,operation:e,args:r}){let o=new AbortController;Yu.set(t,o);try{if(!Ju)throw new y("Cannot answer: the model is not loaded");Vr({kind:"answer",id:t,answer:await hA(Ju,e,[...r,o.signal])})}catch(n){Vr({kind:"problem",id:t,detail:_y(n,"answer")})}finally{Yu.delete(t)}}async function hA(t,e,r){return await t[e].apply(t,r)}function _y(t,e){let{status:r,detail:o}=Ti(t);return r!==500?o:(console.error(t),`Cannot ${e}: ${t instanceof Error?t.message:String(t)}`)}
