var Q_=Object.defineProperty;var vs=(t,e)=>{for(var r in e)Q_(t,r,{get:e[r],enumerable:!0})};var y=class extends Error{name="UserError";exitCode=1},Ao=class extends y{name="UsageError";exitCode=2},Q=class extends y{name="FormatError";path;offsetBytes;constructor(e,r){let o=r.place??(r.offsetBytes===void 0?void 0:`byte ${r.offsetBytes}`);super(`Cannot read ${r.path}${o?` at ${o}`:""}: ${e}`,{cause:r.cause}),this.path=r.path,this.offsetBytes=r.offsetBytes}},Ze=class extends Ao{name="ConfigError";keyPath;constructor(e,r,o){super(`Cannot use config key ${e}: ${r}`,o),this.keyPath=e}},D=class extends Error{name="KernelError";kernel;line;file;constructor(e,r,o,n=e){let s=n===e?"":` of ${n}.wgsl`;super(`Cannot use kernel ${e}${o===void 0?"":` (line ${o}${s})`}: ${r}`),this.kernel=e,this.line=o,this.file=n}},br=class extends y{signal;name;exitCode;constructor(e){super(`stopped by ${e}; run the same command again to continue`),this.signal=e,this.name="InterruptedError",this.exitCode=e==="SIGINT"?130:75}};function b(t,e){if(!t)throw new Error(`Internal error: ${e}`)}function B(t,e){let r=t.get(e);return b(r!==void 0,`there is no ${e}`),r}function Ss(t,e=80){return t.length<=e?t:`${t.slice(0,e-1)}\u2026`}var ks=2,oE={format:"pt",format_version:String(ks)},fu="wpe.",ew="address_embed.";function Es(t,e){let r=Number(t??1);if(!(Number.isInteger(r)&&r>=1&&r<=ks))throw new y(`Cannot read ${e}: found format version ${t}, expected 1 to ${ks}; use the version of the program that wrote it`)}function du(t,e,r){if(Es(e,r),Number(e??1)>1)return new Map(t);let o=n=>n.startsWith(fu)?ew+n.slice(fu.length):n;return new Map([...t].map(([n,s])=>[o(n),s]))}var T={};vs(T,{BIGINT_FORMAT_RANGES:()=>Oo,CONSTANT_CATCH:()=>Su,Class:()=>zs,NUMBER_FORMAT_RANGES:()=>Er,aborted:()=>_e,allowsEval:()=>Is,assert:()=>iw,assertEqual:()=>tw,assertIs:()=>nw,assertNever:()=>sw,assertNotEqual:()=>rw,assignProp:()=>ve,attachSchema:()=>Ar,base64ToUint8Array:()=>bu,base64urlToUint8Array:()=>Ew,cached:()=>vr,captureStackTrace:()=>zo,cleanEnum:()=>kw,cleanRegex:()=>Sr,clone:()=>Oe,cloneDef:()=>cw,codePointLength:()=>Tr,constantCatch:()=>ku,createTransparentProxy:()=>hw,defineLazy:()=>mu,defineLazyInternal:()=>C,derived:()=>$w,esc:()=>Ps,escapeRegex:()=>tt,explicitlyAborted:()=>Ls,extend:()=>ww,finalizeIssue:()=>Me,floatSafeRemainder:()=>Os,getElementAtPath:()=>lw,getEnumValues:()=>Ft,getLengthableOrigin:()=>zr,getParsedType:()=>mw,getSizableOrigin:()=>yu,hexToUint8Array:()=>Tw,hide:()=>Io,installLazyProp:()=>Iw,isObject:()=>jt,isPlainObject:()=>ft,issue:()=>Kt,joinValues:()=>To,jsonStringifyReplacer:()=>Ht,members:()=>Ds,merge:()=>yw,mergeDefs:()=>et,normalizeParams:()=>E,nullish:()=>$s,numKeys:()=>pw,objectClone:()=>aw,omit:()=>_w,optionalKeys:()=>Ns,own:()=>lt,parsedType:()=>Cs,partial:()=>bw,pick:()=>gw,prefixIssues:()=>Pe,primitiveTypes:()=>wu,promiseAllObject:()=>fw,propertyKeyTypes:()=>Rs,randomString:()=>dw,rawShape:()=>kr,required:()=>vw,safeExtend:()=>xw,shallowClone:()=>_u,sizeCaps:()=>Mo,slugify:()=>Ms,stringifyPrimitive:()=>$o,toZod:()=>ow,uint8ArrayToBase64:()=>vu,uint8ArrayToBase64url:()=>Aw,uint8ArrayToHex:()=>zw,unwrapMessage:()=>qt});function tw(t){return t}function rw(t){return t}function ow(){return t=>t}function nw(t){}function sw(t){throw new Error("Unexpected value in exhaustive check")}function iw(t){}function Ft(t){let e=Object.values(t).filter(o=>typeof o=="number");return Object.entries(t).filter(([o,n])=>e.indexOf(+o)===-1).map(([o,n])=>n)}function To(t,e="|"){return t.map(r=>$o(r)).join(e)}function Ht(t,e){return typeof e=="bigint"?e.toString():e}var Ts=class{constructor(e){this._getter=e,this._value=void 0}get value(){let e=this._getter;return e!==void 0&&(this._value=e(),this._getter=void 0),this._value}};function vr(t){return new Ts(t)}function $s(t){return t==null}function Sr(t){let e=t.startsWith("^")?1:0,r=t.endsWith("$")?t.length-1:t.length;return t.slice(e,r)}function Os(t,e){let r=t/e,o=Math.round(r),n=4*Number.EPSILON*Math.max(Math.abs(r),1);return Math.abs(r-o)<n?0:r-o}var pu=Symbol("evaluating");function mu(t,e,r){let o;Object.defineProperty(t,e,{get(){if(o!==pu)return o===void 0&&(o=pu,o=r()),o},set(n){Object.defineProperty(t,e,{value:n})},configurable:!0})}function aw(t){return Object.create(Object.getPrototypeOf(t),Object.getOwnPropertyDescriptors(t))}function ve(t,e,r){Object.defineProperty(t,e,{value:r,writable:!0,enumerable:!0,configurable:!0})}function kr(t){let e=Object.getOwnPropertyDescriptor(t,"shape");return e?.get?e.get.raw:e?.value}function Qe(t){return kr(t._zod.def)??t._zod.def.shape}function hu(t,e,r){Object.defineProperty(t,e,{get(){let o=r();return ve(this,e,o),o},enumerable:!0,configurable:!0})}function gu(t,e,r){e in t?ve(t,e,r):t[e]=r}function xt(t,e,r,o){let n=Qe(e);for(let s of r){let i=Object.getOwnPropertyDescriptor(n,s);i.enumerable&&(i.get?hu(t,s,()=>{let a=e._zod.def.shape[s];return o?o(a,s):a}):gu(t,s,o?o(i.value,s):i.value))}}function uw(t,e){for(let r of Reflect.ownKeys(e)){let o=Object.getOwnPropertyDescriptor(e,r);o.enumerable&&(o.get?hu(t,r,()=>e[r]):gu(t,r,o.value))}}function et(...t){let e={};for(let r of t){let o=Object.getOwnPropertyDescriptors(r);Object.assign(e,o)}return Object.defineProperties({},e)}function cw(t){return et(t._zod.def)}function lw(t,e){return e?e.reduce((r,o)=>r?.[o],t):t}function fw(t){let e=Object.keys(t),r=e.map(o=>t[o]);return Promise.all(r).then(o=>{let n={};for(let s=0;s<e.length;s++)n[e[s]]=o[s];return n})}function dw(t=10){let e="abcdefghijklmnopqrstuvwxyz",r="";for(let o=0;o<t;o++)r+=e[Math.floor(Math.random()*e.length)];return r}function Ps(t){return JSON.stringify(t)}function Ms(t){return t.toLowerCase().trim().replace(/[^\w\s-]/g,"").replace(/[\s_-]+/g,"-").replace(/^-+|-+$/g,"")}var zo="captureStackTrace"in Error?Error.captureStackTrace:(...t)=>{};function jt(t){return typeof t=="object"&&t!==null&&!Array.isArray(t)}var Is=vr(()=>{if(pe.jitless||typeof navigator<"u"&&navigator?.userAgent?.includes("Cloudflare"))return!1;try{let t=Function;return new t(""),!0}catch{return!1}});function ft(t){if(jt(t)===!1)return!1;let e=t.constructor;if(e===void 0||typeof e!="function")return!0;let r=e.prototype;return!(jt(r)===!1||Object.prototype.hasOwnProperty.call(r,"isPrototypeOf")===!1)}function _u(t){return ft(t)?{...t}:Array.isArray(t)?[...t]:t instanceof Map?new Map(t):t instanceof Set?new Set(t):t}function pw(t){let e=0;for(let r in t)Object.prototype.hasOwnProperty.call(t,r)&&e++;return e}var mw=t=>{let e=typeof t;switch(e){case"undefined":return"undefined";case"string":return"string";case"number":return Number.isNaN(t)?"nan":"number";case"boolean":return"boolean";case"function":return"function";case"bigint":return"bigint";case"symbol":return"symbol";case"object":return Array.isArray(t)?"array":t===null?"null":t.then&&typeof t.then=="function"&&t.catch&&typeof t.catch=="function"?"promise":typeof Map<"u"&&t instanceof Map?"map":typeof Set<"u"&&t instanceof Set?"set":typeof Date<"u"&&t instanceof Date?"date":typeof File<"u"&&t instanceof File?"file":"object";default:throw new Error(`Unknown data type: ${e}`)}},Rs=new Set(["string","number","symbol"]),wu=new Set(["string","number","bigint","boolean","symbol","undefined"]);function tt(t){return t.replace(/[.*+?^${}()|[\]\\]/g,"\\$&")}function Oe(t,e,r){let o=new t._zod.constr(e??t._zod.def);return(!e||r?.parent)&&(o._zod.parent=t),o}function E(t){let e=t;if(!e)return{};if(typeof e=="string")return{error:()=>e};if(e?.message!==void 0){if(e?.error!==void 0)throw new Error("Cannot specify both `message` and `error` params");e.error=e.message}return delete e.message,typeof e.error=="string"?{...e,error:()=>e.error}:e}function hw(t){let e;return new Proxy({},{get(r,o,n){return e??(e=t()),Reflect.get(e,o,n)},set(r,o,n,s){return e??(e=t()),Reflect.set(e,o,n,s)},has(r,o){return e??(e=t()),Reflect.has(e,o)},deleteProperty(r,o){return e??(e=t()),Reflect.deleteProperty(e,o)},ownKeys(r){return e??(e=t()),Reflect.ownKeys(e)},getOwnPropertyDescriptor(r,o){return e??(e=t()),Reflect.getOwnPropertyDescriptor(e,o)},defineProperty(r,o,n){return e??(e=t()),Reflect.defineProperty(e,o,n)}})}function $o(t){return typeof t=="bigint"?t.toString()+"n":typeof t=="string"?`"${t}"`:`${t}`}function Ns(t){return Object.keys(t).filter(e=>t[e]._zod.optin!==void 0&&t[e]._zod.optout==="optional")}var Er={safeint:[Number.MIN_SAFE_INTEGER,Number.MAX_SAFE_INTEGER],int32:[-2147483648,2147483647],uint32:[0,4294967295],float32:[-34028234663852886e22,34028234663852886e22],float64:[-Number.MAX_VALUE,Number.MAX_VALUE]},Oo={int64:[BigInt("-9223372036854775808"),BigInt("9223372036854775807")],uint64:[BigInt(0),BigInt("18446744073709551615")]};function gw(t,e){let r=t._zod.def,o=r.checks;if(o&&o.length>0)throw new Error(".pick() cannot be used on object schemas containing refinements");let s={};return xt(s,t,Po(t,e)),Oe(t,et(r,{shape:s,checks:[]}))}function Po(t,e){let r=Qe(t),o=[];for(let n of Reflect.ownKeys(e)){if(!Object.getOwnPropertyDescriptor(r,n)?.enumerable)throw new Error(`Unrecognized key: "${String(n)}"`);e[n]&&o.push(n)}return o}function _w(t,e){let r=t._zod.def,o=r.checks;if(o&&o.length>0)throw new Error(".omit() cannot be used on object schemas containing refinements");let s=new Set(Po(t,e)),i={};return xt(i,t,Reflect.ownKeys(Qe(t)).filter(a=>!s.has(a))),Oe(t,et(r,{shape:i,checks:[]}))}function ww(t,e){if(!ft(e))throw new Error("Invalid input to extend: expected a plain object");let r=t._zod.def.checks;if(r&&r.length>0){let n=Qe(t);for(let s of Reflect.ownKeys(e))if(Object.getOwnPropertyDescriptor(n,s)!==void 0)throw new Error("Cannot overwrite keys on object schemas containing refinements. Use `.safeExtend()` instead.")}return Oe(t,et(t._zod.def,{shape:xu(t,e)}))}function xu(t,e){let r={};return xt(r,t,Reflect.ownKeys(Qe(t))),uw(r,e),r}function xw(t,e){if(!ft(e))throw new Error("Invalid input to safeExtend: expected a plain object");return Oe(t,et(t._zod.def,{shape:xu(t,e)}))}function yw(t,e){if(!e?._zod?.def)throw new Error("Invalid input to merge: expected an object schema. To merge a plain shape, use `.extend()`.");if(t._zod.def.checks?.length)throw new Error(".merge() cannot be used on object schemas containing refinements. Use .safeExtend() instead.");let r={};xt(r,t,Reflect.ownKeys(Qe(t))),xt(r,e,Reflect.ownKeys(Qe(e)));let o=et(t._zod.def,{shape:r,get catchall(){return e._zod.def.catchall},checks:e._zod.def.checks??[]});return Oe(t,o)}function bw(t,e,r,o="partial"){let s=e._zod.def.checks;if(s&&s.length>0)throw new Error(`.${o}() cannot be used on object schemas containing refinements`);let a=r?new Set(Po(e,r)):void 0,u={};return xt(u,e,Reflect.ownKeys(Qe(e)),t&&((c,l)=>a&&!a.has(l)?c:new t({type:"optional",innerType:c}))),Oe(e,et(e._zod.def,{shape:u,checks:[]}))}function vw(t,e,r){let o=r?new Set(Po(e,r)):void 0,n={};return xt(n,e,Reflect.ownKeys(Qe(e)),(s,i)=>o&&!o.has(i)?s:new t({type:"nonoptional",innerType:s})),Oe(e,et(e._zod.def,{shape:n}))}function _e(t,e=0){if(t.aborted===!0)return!0;for(let r=e;r<t.issues.length;r++)if(t.issues[r]?.continue!==!0)return!0;return!1}function Ls(t,e=0){if(t.aborted===!0)return!0;for(let r=e;r<t.issues.length;r++)if(t.issues[r]?.continue===!1)return!0;return!1}function Pe(t,e){return e.map(r=>{var o;return(o=r).path??(o.path=[]),r.path.unshift(t),r})}function qt(t){return typeof t=="string"?t:t?.message}function Mo(t){let e=[];for(let r of t??[]){let o=r._zod.def;if(!/_(length|size)$|_equals$/.test(o.check))break;let n=o.maximum??o.length??o.size;n>=0&&e.push([n,r])}return e}function Ar(t,e,r){var o;for(let n=e;n<t.length;n++)(o=t[n]).schema??(o.schema=r)}function Me(t,e,r){var o;let n=t.inst?._zod?.traits;n?.has("$ZodType")&&(n.has("$ZodCheck")?(o=t).schema??(o.schema=t.inst):t.schema=t.inst);let s=t.schema!==t.inst?t.schema?._zod.def?.error:void 0,i=t.message?t.message:qt(t.inst?._zod.def?.error?.(t))??qt(s?.(t))??qt(e?.error?.(t))??qt(r.customError?.(t))??qt(r.localeError?.(t))??"Invalid input",a={};for(let u of Object.keys(t))u==="inst"||u==="schema"||u==="continue"||u==="input"||u==="__proto__"||(a[u]=t[u]);return a.path??(a.path=[]),a.message=i,e?.reportInput&&(a.input=t.input),a}function yu(t){return t instanceof Set?"set":t instanceof Map?"map":t instanceof File?"file":"unknown"}var Sw=/[\uD800-\uDBFF]/;function Tr(t){let e=t.length;if(!Sw.test(t))return e;let r=e;for(let o=0;o<e-1;o++)(t.charCodeAt(o)&64512)===55296&&(t.charCodeAt(o+1)&64512)===56320&&(r--,o++);return r}function zr(t){return Array.isArray(t)?"array":typeof t=="string"?"string":"unknown"}function Cs(t){let e=typeof t;switch(e){case"number":return Number.isNaN(t)?"nan":"number";case"object":{if(t===null)return"null";if(Array.isArray(t))return"array";let r=t;if(r&&Object.getPrototypeOf(r)!==Object.prototype&&"constructor"in r&&r.constructor)return r.constructor.name}}return e}function Kt(...t){let[e,r,o]=t;return typeof e=="string"?{message:e,code:"custom",input:r,inst:o}:{...e}}function kw(t){return Object.entries(t).filter(([e,r])=>Number.isNaN(Number.parseInt(e,10))).map(e=>e[1])}function bu(t){let e=atob(t),r=new Uint8Array(e.length);for(let o=0;o<e.length;o++)r[o]=e.charCodeAt(o);return r}function vu(t){let e="";for(let r=0;r<t.length;r++)e+=String.fromCharCode(t[r]);return btoa(e)}function Ew(t){let e=t.replace(/-/g,"+").replace(/_/g,"/"),r="=".repeat((4-e.length%4)%4);return bu(e+r)}function Aw(t){return vu(t).replace(/\+/g,"-").replace(/\//g,"_").replace(/=/g,"")}function Tw(t){let e=t.replace(/^0x/,"");if(e.length%2!==0)throw new Error("Invalid hex string length");let r=new Uint8Array(e.length/2);for(let o=0;o<e.length;o+=2)r[o/2]=Number.parseInt(e.slice(o,o+2),16);return r}function zw(t){return Array.from(t).map(e=>e.toString(16).padStart(2,"0")).join("")}var zs=class{constructor(...e){}};function Ds(t,e){for(let r in e){let o=Object.getOwnPropertyDescriptor(e,r);o.get?Object.defineProperty(t,r,{...o,enumerable:!1}):Ow(t,r,o.value)}}function lt(t,e,r,o=!0){return Object.defineProperty(t,e,{configurable:!0,writable:!0,enumerable:o,value:r}),r}function Io(t,e,r){return lt(t,e,r,!1)}function $w(t,e){for(let r in t){let o=t[r];Object.defineProperty(e,r,{configurable:!0,enumerable:!0,get(){return lt(this,r,o(this))},set(n){lt(this,r,n)}})}return e}function Ow(t,e,r){Object.defineProperty(t,e,{configurable:!0,get(){return this==null?r:lt(this,e,r.bind(this))},set(o){lt(this,e,o)}})}function Pw(t,e){let r=Object.getPrototypeOf(t);return e in r?void 0:r}var As,ct=!1,Mw={configurable:!0,get(){ct=!0}};function C(t,e,r){let o=Object.getPrototypeOf(t._zod);if(e in o&&As!==t._zod){As=void 0;return}As=t._zod,Object.defineProperty(o,e,{configurable:!0,get(){Object.defineProperty(this,e,Mw);let n=ct;ct=!1;try{let s=r(this);return ct?delete this[e]:Object.defineProperty(this,e,{configurable:!0,writable:!0,value:s}),ct=ct||n,s}catch(s){throw delete this[e],ct=ct||n,s}},set(n){Object.defineProperty(this,e,{configurable:!0,writable:!0,value:n})}})}function Iw(t,e,r,o){let n=Pw(t,e);n&&Object.defineProperty(n,e,{configurable:!0,get(){let s={configurable:!0,writable:!0,enumerable:o,value:void 0};return Object.defineProperty(this,e,s),s.value=r(this),Object.defineProperty(this,e,s),s.value},set(s){Object.defineProperty(this,e,{configurable:!0,writable:!0,enumerable:o,value:s})}})}var Su="~constantCatch";function ku(t){let e=()=>t;return e[Su]=!0,e}var Eu;var Bs={value:void 0,enumerable:!1},Au="captureStackTrace"in Error?Error:null;function Rw(t){let e=Au;if(e){let r=e.stackTraceLimit;if(typeof r=="number"){try{e.stackTraceLimit=0}catch{return Au=null,new t}try{return new t}finally{e.stackTraceLimit=r}}}return new t}function w(t,e,r,o){let n={};function s(d){this.def=d,this.constr=f,this.traits=new Set}s.prototype=n;let i=r,a=i&&new WeakSet;function u(d,p){if(d._zod){if(d._zod.traits.has(t))return}else{Bs.value=new s(p);try{Object.defineProperty(d,"_zod",Bs)}finally{Bs.value=void 0}}if(d._zod.traits.add(t),e(d,p),a){let g=Object.getPrototypeOf(d),h=d._zod.constr.prototype,_=g;for(;_&&_!==h;)_=Object.getPrototypeOf(_);let x=_??g;a.has(x)||(a.add(x),Ds(x,i))}let m=f.prototype;for(let g in m)Object.prototype.hasOwnProperty.call(m,g)&&(g in d||(d[g]=m[g].bind(d)))}let c=o?.Parent??Object;class l extends c{}Object.defineProperty(l,"name",{value:t});function f(d){let p=o?.Parent?Rw(l):this;u(p,d);let m=p._zod.deferred;if(m){for(let h of m)h();p._zod.deferred=void 0}let g=globalThis.__zod_globalConfig?.postProcessor;return g&&g(p),p}return Object.defineProperty(f,"init",{value:u}),Object.defineProperty(f,Symbol.hasInstance,{value:d=>o?.Parent&&d instanceof o.Parent?!0:d?._zod?.traits?.has(t)}),Object.defineProperty(f,"name",{value:t}),f}var Ie=class extends Error{constructor(){super("Encountered Promise during synchronous parse. Use .parseAsync() instead.")}},Gt=class extends Error{constructor(e){super(`Encountered unidirectional transform during encode: ${e}`),this.name="ZodEncodeError"}};(Eu=globalThis).__zod_globalConfig??(Eu.__zod_globalConfig={});var pe=globalThis.__zod_globalConfig;function we(t){return t&&Object.assign(pe,t),pe}function Nw(){let t=this._zod;return t.message??(t.message=JSON.stringify(t.def,Ht,2)),t.message}function Lw(t){this._zod.message=t}var Cw={get:Nw,set:Lw,enumerable:!0,configurable:!0},Us={value:void 0,enumerable:!1},Tu=new WeakSet([Object.prototype,Error.prototype]),zu=(t,e)=>{t.name="$ZodError",Us.value=e,Object.defineProperty(t,"issues",Us),Us.value=void 0,Object.defineProperty(t,"message",Cw);let r=Object.getPrototypeOf(t);Tu.has(r)||(Tu.add(r),Object.defineProperty(r,"toString",{configurable:!0,enumerable:!1,get(){let o=()=>this.message;return Object.defineProperty(this,"toString",{value:o,configurable:!0,writable:!0}),o},set(o){Object.defineProperty(this,"toString",{value:o,configurable:!0,writable:!0})}}))},$u=w("$ZodError",zu),uE=w("$ZodError",zu,void 0,{Parent:Error});function Dw(t,e,r){return Object.prototype.hasOwnProperty.call(t,e)||(e==="__proto__"?Object.defineProperty(t,e,{value:r(),writable:!0,enumerable:!0,configurable:!0}):t[e]=r()),t[e]}function Ou(t,e=r=>r.message){let r={},o=[];for(let n of t.issues)n.path.length>0?Dw(r,n.path[0],()=>[]).push(e(n)):o.push(e(n));return{formErrors:o,fieldErrors:r}}function Pu(t,e=r=>r.message){let r={_errors:[]},o=(n,s=[])=>{for(let i of n.issues)if(i.code==="invalid_union"&&i.errors.length)i.errors.map(a=>o({issues:a},[...s,...i.path]));else if(i.code==="invalid_key")o({issues:i.issues},[...s,...i.path]);else if(i.code==="invalid_element")o({issues:i.issues},[...s,...i.path]);else{let a=[...s,...i.path];if(a.length===0)r._errors.push(e(i));else{let u=r,c=0;for(;c<a.length;){let l=a[c],f=c===a.length-1;if(l==="_errors"){f&&u._errors.push(e(i)),c++;continue}Object.prototype.hasOwnProperty.call(u,l)||Object.defineProperty(u,l,{value:{_errors:[]},enumerable:!0,writable:!0,configurable:!0});let d=u[l];f&&d._errors.push(e(i)),u=d,c++}}}};return o(t),r}function Ro(t,e){return{callee:e?.callee??t,Err:e?.Err}}var No=t=>{let e=(r,o,n,s)=>{let i=n?{...n,async:!1}:{async:!1},a=r._zod.run({value:o,issues:[]},i);if(a instanceof Promise)throw new Ie;if(a.issues.length){let u=new(s?.Err??t)(a.issues.map(c=>Me(c,i,we())));throw zo(u,s?.callee??e),u}return a.value};return e};var Lo=t=>{let e=async(r,o,n,s)=>{let i=n?{...n,async:!0}:{async:!0},a=r._zod.run({value:o,issues:[]},i);if(a instanceof Promise&&(a=await a),a.issues.length){let u=new(s?.Err??t)(a.issues.map(c=>Me(c,i,we())));throw zo(u,s?.callee??e),u}return a.value};return e};var Co=t=>(e,r,o)=>{let n=o?{...o,async:!1}:{async:!1},s=e._zod.run({value:r,issues:[]},n);if(s instanceof Promise)throw new Ie;return s.issues.length?Mu(t,s.issues,n):{success:!0,data:s.value}};function Mu(t,e,r){let o;return{success:!1,get error(){return o||(o=new t(e.map(n=>Me(n,r,we()))),e=void 0,r=void 0),o},set error(n){o=n,e=void 0,r=void 0}}}var Do=t=>async(e,r,o)=>{let n=o?{...o,async:!0}:{async:!0},s=e._zod.run({value:r,issues:[]},n);return s instanceof Promise&&(s=await s),s.issues.length?Mu(t,s.issues,n):{success:!0,data:s.value}};var Bw=Symbol.for("zod.compile.invalid"),Zw=Symbol.for("zod.compile.fallback"),qs=(t,e,r)=>{let o=t._zod.bag.validator;if(o!==void 0){if(o(e)!==Bw)return!0;if(o.definite===!0&&r===void 0)return!1}return Uw(t,e,r)};function Uw(t,e,r){let o=r?{...r,async:!1,abortEarly:!0}:{async:!1,abortEarly:!0},n=t._zod.bag.fallbackRun,s;if(n?(o[Zw]=!0,s=n({value:e,issues:[]},o)):s=t._zod.run({value:e,issues:[]},o),s instanceof Promise)throw new Ie;return s.issues.length===0}var js=async(t,e,r)=>{let o=r?{...r,async:!0,abortEarly:!0}:{async:!0,abortEarly:!0},n=t._zod.run({value:e,issues:[]},o);return n instanceof Promise&&(n=await n),n.issues.length===0},Iu=t=>{let e=No(t),r=(o,n,s,i)=>{let a=s?{...s,direction:"backward"}:{direction:"backward"};return e(o,n,a,Ro(r,i))};return r};var Ru=t=>{let e=No(t),r=(o,n,s,i)=>e(o,n,s,Ro(r,i));return r};var Nu=t=>{let e=Lo(t),r=async(o,n,s,i)=>{let a=s?{...s,direction:"backward"}:{direction:"backward"};return await e(o,n,a,Ro(r,i))};return r};var Lu=t=>{let e=Lo(t),r=async(o,n,s,i)=>await e(o,n,s,Ro(r,i));return r};var Cu=t=>(e,r,o)=>{let n=o?{...o,direction:"backward"}:{direction:"backward"};return Co(t)(e,r,n)};var Du=t=>(e,r,o)=>Co(t)(e,r,o);var Bu=t=>async(e,r,o)=>{let n=o?{...o,direction:"backward"}:{direction:"backward"};return Do(t)(e,r,n)};var Zu=t=>async(e,r,o)=>Do(t)(e,r,o);var Uu=/^[cC][0-9a-z]{6,}$/,qu=/^[0-9a-z]+$/,ju=/^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$/,Fu=/^[0-9a-vA-V]{20}$/,Hu=/^[A-Za-z0-9]{27}$/,Ku=/^[a-zA-Z0-9_-]{21}$/;function Gu(t){return new RegExp(`^[a-zA-Z0-9_-]{${t}}$`)}var Vu=/^P(?:(\d+W)|(?!.*W)(?=\d|T\d)(\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+([.,]\d+)?S)?)?)$/;var Wu=/^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})$/,Hs=t=>t?new RegExp(`^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-${t}[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12})$`):/^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}|00000000-0000-0000-0000-000000000000|ffffffff-ffff-ffff-ffff-ffffffffffff)$/;var Yu=/^(?:[A-Za-z0-9_'+\-]+\.)*[A-Za-z0-9_'+\-]*[A-Za-z0-9_+-]@(?:[A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$/;var qw="^(?=[\\s\\S]*[\\p{Extended_Pictographic}\\p{Regional_Indicator}\\u20E3])[\\p{Extended_Pictographic}\\p{Emoji_Component}]+$";function Ju(){return new RegExp(qw,"u")}var Xu=/^(?:(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\.){3}(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])$/,Qu=/^(([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,7}:|([0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,5}(:[0-9a-fA-F]{1,4}){1,2}|([0-9a-fA-F]{1,4}:){1,4}(:[0-9a-fA-F]{1,4}){1,3}|([0-9a-fA-F]{1,4}:){1,3}(:[0-9a-fA-F]{1,4}){1,4}|([0-9a-fA-F]{1,4}:){1,2}(:[0-9a-fA-F]{1,4}){1,5}|[0-9a-fA-F]{1,4}:((:[0-9a-fA-F]{1,4}){1,6})|:((:[0-9a-fA-F]{1,4}){1,7}|:))$/;var ec=/^((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\/([0-9]|[1-2][0-9]|3[0-2])$/,tc=/^(([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,7}:|([0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,5}(:[0-9a-fA-F]{1,4}){1,2}|([0-9a-fA-F]{1,4}:){1,4}(:[0-9a-fA-F]{1,4}){1,3}|([0-9a-fA-F]{1,4}:){1,3}(:[0-9a-fA-F]{1,4}){1,4}|([0-9a-fA-F]{1,4}:){1,2}(:[0-9a-fA-F]{1,4}){1,5}|[0-9a-fA-F]{1,4}:((:[0-9a-fA-F]{1,4}){1,6})|:((:[0-9a-fA-F]{1,4}){1,7}|:))\/(12[0-8]|1[01][0-9]|[1-9]?[0-9])$/,rc=/^$|^(?:[0-9a-zA-Z+/]{4})*(?:(?:[0-9a-zA-Z+/]{2}==)|(?:[0-9a-zA-Z+/]{3}=))?$/,oc=/^(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-]{2,3})?$/;var nc=/^https?$/,sc=/^\+[1-9]\d{6,14}$/;var ic="(?:(?:\\d\\d[2468][048]|\\d\\d[13579][26]|\\d\\d0[48]|[02468][048]00|[13579][26]00)-02-29|\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|(?:02)-(?:0[1-9]|1\\d|2[0-8])))";function jw(t){return new RegExp(`^${t}$`)}var ac=jw(ic);function Fs(t){let e="(?:[01]\\d|2[0-3]):[0-5]\\d";return typeof t.precision=="number"?t.precision===-1?`${e}`:t.precision===0?`${e}:[0-5]\\d`:`${e}:[0-5]\\d\\.\\d{${t.precision}}`:t.seconds?`${e}:[0-5]\\d(?:\\.\\d+)?`:`${e}(?::[0-5]\\d(?:\\.\\d+)?)?`}function uc(t){return new RegExp(`^${Fs(t)}$`)}function cc(t){let e=["Z"];t.offset&&e.push("([+-](?:[01]\\d|2[0-3]):[0-5]\\d)");let r=`${Fs({precision:t.precision,seconds:!0})}(?:${e.join("|")})`,o=t.local?`${r}|${Fs({precision:t.precision})}`:r;return new RegExp(`^${ic}T(?:${o})$`)}var lc=/^[\s\S]{0,}$/;var fc=/^-?\d+n?$/,Ks=/^-?\d+$/,$r=/^-?\d+(?:\.\d+)?$/,dc=/^(?:true|false)$/i;var pc=/^[^A-Z]*$/,mc=/^[^a-z]*$/;var ie=w("$ZodCheck",(t,e)=>{var r;t._zod??(t._zod={}),t._zod.def=e,(r=t._zod).onattach??(r.onattach=[])});var Gs=t=>{let e=t.value;return!$s(e)&&e.length!==void 0},Bo={number:"number",bigint:"bigint",object:"date"},Vs=w("$ZodCheckLessThan",(t,e)=>{ie.init(t,e);let r=Bo[typeof e.value];t._zod.check=o=>{(e.inclusive?o.value<=e.value:o.value<e.value)||o.issues.push({origin:Bo[typeof o.value]??r,code:"too_big",maximum:typeof e.value=="object"?e.value.getTime():e.value,input:o.value,inclusive:e.inclusive,inst:t,continue:!e.abort})}}),Ws=w("$ZodCheckGreaterThan",(t,e)=>{ie.init(t,e);let r=Bo[typeof e.value];t._zod.check=o=>{(e.inclusive?o.value>=e.value:o.value>e.value)||o.issues.push({origin:Bo[typeof o.value]??r,code:"too_small",minimum:typeof e.value=="object"?e.value.getTime():e.value,input:o.value,inclusive:e.inclusive,inst:t,continue:!e.abort})}}),hc=w("$ZodCheckMultipleOf",(t,e)=>{ie.init(t,e),t._zod.check=r=>{if(typeof r.value!=typeof e.value)throw new Error("Cannot mix number and bigint in multiple_of check.");(typeof r.value=="bigint"?e.value!==BigInt(0)&&r.value%e.value===BigInt(0):Os(r.value,e.value)===0)||r.issues.push({origin:typeof r.value,code:"not_multiple_of",divisor:e.value,input:r.value,inst:t,continue:!e.abort})}}),gc=w("$ZodCheckNumberFormat",(t,e)=>{ie.init(t,e),e.format=e.format||"float64";let r=e.format?.includes("int"),o=r?"int":"number",[n,s]=Er[e.format];t._zod.check=i=>{let a=i.value;if(r){if(!Number.isInteger(a)){i.issues.push({expected:o,format:e.format,code:"invalid_type",continue:!1,input:a,inst:t});return}if(!Number.isSafeInteger(a)){a>0?i.issues.push({input:a,code:"too_big",maximum:Number.MAX_SAFE_INTEGER,note:"Integers must be within the safe integer range.",inst:t,origin:o,inclusive:!0,continue:!e.abort}):i.issues.push({input:a,code:"too_small",minimum:Number.MIN_SAFE_INTEGER,note:"Integers must be within the safe integer range.",inst:t,origin:o,inclusive:!0,continue:!e.abort});return}}a<n&&i.issues.push({origin:"number",input:a,code:"too_small",minimum:n,inclusive:!0,inst:t,continue:!e.abort}),a>s&&i.issues.push({origin:"number",input:a,code:"too_big",maximum:s,inclusive:!0,inst:t,continue:!e.abort})}});var _c=w("$ZodCheckMaxLength",(t,e)=>{var r;ie.init(t,e),(r=t._zod.def).when??(r.when=Gs),t._zod.check=o=>{let n=o.value,s=n.length;if((typeof n=="string"&&s>e.maximum?Tr(n):s)<=e.maximum)return;let a=zr(n);o.issues.push({origin:a,code:"too_big",maximum:e.maximum,inclusive:!0,input:n,inst:t,continue:!e.abort})}}),wc=w("$ZodCheckMinLength",(t,e)=>{var r;ie.init(t,e),(r=t._zod.def).when??(r.when=Gs),t._zod.check=o=>{let n=o.value,s=n.length;if((typeof n=="string"&&s>=e.minimum&&s<e.minimum*2?Tr(n):s)>=e.minimum)return;let a=zr(n);o.issues.push({origin:a,code:"too_small",minimum:e.minimum,inclusive:!0,input:n,inst:t,continue:!e.abort})}}),xc=w("$ZodCheckLengthEquals",(t,e)=>{var r;ie.init(t,e),(r=t._zod.def).when??(r.when=Gs),t._zod.check=o=>{let n=o.value,s=n.length,i=typeof n=="string"&&s>=e.length&&s<=e.length*2?Tr(n):s;if(i===e.length)return;let a=zr(n),u=i>e.length;o.issues.push({origin:a,...u?{code:"too_big",maximum:e.length}:{code:"too_small",minimum:e.length},inclusive:!0,exact:!0,input:o.value,inst:t,continue:!e.abort})}}),Pr=w("$ZodCheckStringFormat",(t,e)=>{var r,o;ie.init(t,e),e.pattern?(r=t._zod).check??(r.check=n=>{e.pattern.lastIndex=0,!e.pattern.test(n.value)&&n.issues.push({origin:"string",code:"invalid_format",format:e.format,input:n.value,...e.pattern?{pattern:e.pattern.toString()}:{},inst:t,continue:!e.abort})}):(o=t._zod).check??(o.check=()=>{})}),yc=w("$ZodCheckRegex",(t,e)=>{Pr.init(t,e),t._zod.check=r=>{e.pattern.lastIndex=0,!e.pattern.test(r.value)&&r.issues.push({origin:"string",code:"invalid_format",format:"regex",input:r.value,pattern:e.pattern.toString(),inst:t,continue:!e.abort})}}),bc=w("$ZodCheckLowerCase",(t,e)=>{e.pattern??(e.pattern=pc),Pr.init(t,e)}),vc=w("$ZodCheckUpperCase",(t,e)=>{e.pattern??(e.pattern=mc),Pr.init(t,e)}),Sc=w("$ZodCheckIncludes",(t,e)=>{ie.init(t,e);let r=tt(e.includes),o=new RegExp(typeof e.position=="number"?`^.{${e.position},}${r}`:r);e.pattern=o,t._zod.check=n=>{n.value.includes(e.includes,e.position)||n.issues.push({origin:"string",code:"invalid_format",format:"includes",includes:e.includes,input:n.value,inst:t,continue:!e.abort})}}),kc=w("$ZodCheckStartsWith",(t,e)=>{ie.init(t,e);let r=new RegExp(`^${tt(e.prefix)}.*`);e.pattern??(e.pattern=r),t._zod.check=o=>{o.value.startsWith(e.prefix)||o.issues.push({origin:"string",code:"invalid_format",format:"starts_with",prefix:e.prefix,input:o.value,inst:t,continue:!e.abort})}}),Ec=w("$ZodCheckEndsWith",(t,e)=>{ie.init(t,e);let r=new RegExp(`.*${tt(e.suffix)}$`);e.pattern??(e.pattern=r),t._zod.check=o=>{o.value.endsWith(e.suffix)||o.issues.push({origin:"string",code:"invalid_format",format:"ends_with",suffix:e.suffix,input:o.value,inst:t,continue:!e.abort})}});var Ac=w("$ZodCheckOverwrite",(t,e)=>{ie.init(t,e),t._zod.check=r=>{r.value=e.tx(r.value)}});var Zo=class{constructor(e=[],r={}){this.content=[],this.indent=0,this.args=e,this.closed=r}indented(e){this.indent+=1;try{e(this)}finally{this.indent-=1}}write(e){if(typeof e=="function"){e(this,{execution:"sync"}),e(this,{execution:"async"});return}let o=e.split(`
`).filter(i=>i),n=Math.min(...o.map(i=>i.length-i.trimStart().length)),s=o.map(i=>i.slice(n)).map(i=>" ".repeat(this.indent*2)+i);for(let i of s)this.content.push(i)}compile(){let e=Function,r=this?.content??[""];return new e(...Object.keys(this.closed),`return function (${this.args.join(", ")}) {
${r.join(`
`)}
};`)(...Object.values(this.closed))}};var zc={major:4,minor:6,patch:7};var U=w("$ZodType",(t,e)=>{var r;t??(t={}),t._zod.def=e,t._zod.bag=t._zod.bag||{},t._zod.version=zc;let o=t._zod.def.checks,n=t._zod.traits.has("$ZodCheck")?[t,...o??[]]:o?.length?[...o]:[];for(let s of n)for(let i of s._zod.onattach)i(t);if(n.length===0)(r=t._zod).deferred??(r.deferred=[]),t._zod.deferred?.push(()=>{t._zod.run=t._zod.parse});else{let s=(a,u,c)=>{if(a.memo)return a;let l=_e(a),f;for(let d of u){if(d._zod.def.when){if(Ls(a)||!d._zod.def.when(a))continue}else if(l)continue;let p=a.issues.length,m=d._zod.check(a);if(m instanceof Promise&&c?.async===!1)throw new Ie;if(f||m instanceof Promise)f=(f??Promise.resolve()).then(async()=>{await m,a.issues.length!==p&&(Ar(a.issues,p,t),l||(l=_e(a,p)))});else{if(a.issues.length===p)continue;Ar(a.issues,p,t),l||(l=_e(a,p))}}return f?f.then(()=>a):a},i=(a,u,c)=>{if(_e(a))return a.aborted=!0,a;let l=s(u,n,c);if(l instanceof Promise){if(c.async===!1)throw new Ie;return l.then(f=>t._zod.parse(f,c))}return t._zod.parse(l,c)};t._zod.run=(a,u)=>{if(u.skipChecks)return t._zod.parse(a,u);if(u.direction==="backward"){let l=t._zod.parse({value:a.value,issues:[]},{...u,skipChecks:!0});return l instanceof Promise?l.then(f=>i(f,a,u)):i(l,a,u)}let c=t._zod.parse(a,u);if(c instanceof Promise){if(u.async===!1)throw new Ie;return c.then(l=>s(l,n,u))}return s(c,n,u)}}},{get"~standard"(){return Io(this,"~standard",Js(this))},set"~standard"(t){lt(this,"~standard",t)}}),qc=(t,e)=>t.issues.length?{issues:t.issues.map(r=>Me(r,e,we()))}:{value:t.value};async function Fw(t,e){let r={async:!0};return qc(await t._zod.run({value:e,issues:[]},r),r)}function Js(t){return{validate:e=>{let r={async:!1};try{let o=t._zod.run({value:e,issues:[]},r);if(!(o instanceof Promise))return qc(o,r)}catch{}return Fw(t,e)},vendor:"zod",version:1}}var Fo=w("$ZodString",(t,e)=>{U.init(t,e),t._zod.pattern=e.pattern??lc,t._zod.parse=(r,o)=>{if(e.coerce)try{r.value=String(r.value)}catch{}return typeof r.value=="string"||r.issues.push({expected:"string",code:"invalid_type",input:r.value,inst:t}),r}}),F=w("$ZodStringFormat",(t,e)=>{Pr.init(t,e),Fo.init(t,e)}),jc=w("$ZodGUID",(t,e)=>{e.pattern??(e.pattern=Wu),F.init(t,e)}),Fc=w("$ZodUUID",(t,e)=>{if(e.version){let o={v1:1,v2:2,v3:3,v4:4,v5:5,v6:6,v7:7,v8:8}[e.version];if(o===void 0)throw new Error(`Invalid UUID version: "${e.version}"`);e.pattern??(e.pattern=Hs(o))}else e.pattern??(e.pattern=Hs());F.init(t,e)}),Hc=w("$ZodEmail",(t,e)=>{e.pattern??(e.pattern=Yu),F.init(t,e)}),Kc=1,qo=2;function Gc(t){try{return typeof URL<"u"&&typeof URL.canParse=="function"?URL.canParse(t):(new URL(t),!0)}catch{return!1}}function Hw(t,e){return!("normalize"in e)&&!("hostname"in e)&&!("protocol"in e)?Gc(t)||qo:Kw(t,e)}function Kw(t,e){if(!e.normalize&&e.protocol?.source===nc.source&&!/^https?:\/\//i.test(t))return Kc;try{if(typeof URL<"u"){let r=URL;if(typeof r.parse=="function")return r.parse(t)??qo}return new URL(t)}catch{return qo}}var Gw=/[\t\n\r]/g;function $c(t){return t.replace(Gw,"")}function Vw(t,e){return e.lastIndex=0,e.test(t.hostname)}function Ww(t,e){return e.lastIndex=0,e.test(t.protocol.endsWith(":")?t.protocol.slice(0,-1):t.protocol)}var Vc=w("$ZodURL",(t,e)=>{F.init(t,e),t._zod.check=r=>{try{let o=r.value.trim(),n=Hw(o,e);if(n===Kc){r.issues.push({code:"invalid_format",format:"url",note:"Invalid URL format",input:r.value,inst:t,continue:!e.abort});return}if(n===qo){r.issues.push({code:"invalid_format",format:"url",input:r.value,inst:t,continue:!e.abort});return}if(n===!0){r.value=$c(o);return}e.hostname&&!Vw(n,e.hostname)&&r.issues.push({code:"invalid_format",format:"url",note:"Invalid hostname",pattern:e.hostname.source,input:r.value,inst:t,continue:!e.abort}),e.protocol&&!Ww(n,e.protocol)&&r.issues.push({code:"invalid_format",format:"url",note:"Invalid protocol",pattern:e.protocol.source,input:r.value,inst:t,continue:!e.abort}),r.value=e.normalize?n.href:$c(o);return}catch{r.issues.push({code:"invalid_format",format:"url",input:r.value,inst:t,continue:!e.abort})}}}),Wc=w("$ZodEmoji",(t,e)=>{e.pattern??(e.pattern=Ju()),F.init(t,e)}),Yc=w("$ZodNanoID",(t,e)=>{if(e.length!==void 0&&(!Number.isInteger(e.length)||e.length<1))throw new Error(`Invalid nanoid length: ${e.length}`);e.pattern??(e.pattern=e.length===void 0?Ku:Gu(e.length)),F.init(t,e)}),Jc=w("$ZodCUID",(t,e)=>{e.pattern??(e.pattern=Uu),F.init(t,e)}),Xc=w("$ZodCUID2",(t,e)=>{e.pattern??(e.pattern=qu),F.init(t,e)}),Qc=w("$ZodULID",(t,e)=>{e.pattern??(e.pattern=ju),F.init(t,e)}),el=w("$ZodXID",(t,e)=>{e.pattern??(e.pattern=Fu),F.init(t,e)}),tl=w("$ZodKSUID",(t,e)=>{e.pattern??(e.pattern=Hu),F.init(t,e)}),rl=w("$ZodISODateTime",(t,e)=>{e.pattern??(e.pattern=cc(e)),F.init(t,e)}),ol=w("$ZodISODate",(t,e)=>{e.pattern??(e.pattern=ac),F.init(t,e)}),nl=w("$ZodISOTime",(t,e)=>{e.pattern??(e.pattern=uc(e)),F.init(t,e)}),sl=w("$ZodISODuration",(t,e)=>{e.pattern??(e.pattern=Vu),F.init(t,e)}),il=w("$ZodIPv4",(t,e)=>{e.pattern??(e.pattern=Xu),F.init(t,e)}),Yw=/^[0-9a-fA-F:.]+$/;function al(t){return Yw.test(t)?Gc(`http://[${t}]`):!1}var ul=w("$ZodIPv6",(t,e)=>{e.pattern??(e.pattern=Qu),F.init(t,e),t._zod.check=r=>{al(r.value)||r.issues.push({code:"invalid_format",format:"ipv6",input:r.value,inst:t,continue:!e.abort})}});var cl=w("$ZodCIDRv4",(t,e)=>{e.pattern??(e.pattern=ec),F.init(t,e)});function Jw(t){let e=t.split("/");if(e.length!==2)return!1;let[r,o]=e;if(!o)return!1;let n=Number(o);return`${n}`!==o||n<0||n>128?!1:al(r)}var ll=w("$ZodCIDRv6",(t,e)=>{e.pattern??(e.pattern=tc),F.init(t,e),t._zod.check=r=>{Jw(r.value)||r.issues.push({code:"invalid_format",format:"cidrv6",input:r.value,inst:t,continue:!e.abort})}});function fl(t){if(t==="")return!0;if(/\s/.test(t)||t.length%4!==0)return!1;try{return atob(t),!0}catch{return!1}}var Xs=/^[0-9a-zA-Z+/]*={0,2}$/,dl=w("$ZodBase64",(t,e)=>{e.pattern??(e.pattern=Xs),F.init(t,e),t._zod.check=r=>{fl(r.value)||r.issues.push({code:"invalid_format",format:"base64",input:r.value,inst:t,continue:!e.abort})}}),Ho=/^[A-Za-z0-9_-]*$/;function Xw(t){if(!Ho.test(t))return!1;let e=t.replace(/[-_]/g,o=>o==="-"?"+":"/"),r=e.padEnd(Math.ceil(e.length/4)*4,"=");return fl(r)}var pl=w("$ZodBase64URL",(t,e)=>{e.pattern??(e.pattern=Ho),F.init(t,e),t._zod.check=r=>{Xw(r.value)||r.issues.push({code:"invalid_format",format:"base64url",input:r.value,inst:t,continue:!e.abort})}}),ml=w("$ZodE164",(t,e)=>{e.pattern??(e.pattern=sc),F.init(t,e)});function Qw(t,e=null){try{let r=t.split(".");if(r.length!==3)return!1;let[o]=r;if(!o)return!1;let n=JSON.parse(atob(o));return!("typ"in n&&n?.typ!=="JWT"||!n.alg||e&&(!("alg"in n)||n.alg!==e))}catch{return!1}}var hl=w("$ZodJWT",(t,e)=>{F.init(t,e),t._zod.check=r=>{Qw(r.value,e.alg)||r.issues.push({code:"invalid_format",format:"jwt",input:r.value,inst:t,continue:!e.abort})}});var Qs=w("$ZodNumber",(t,e)=>{U.init(t,e),t._zod.pattern=$r,t._zod.parse=(r,o)=>{if(e.coerce)try{r.value=Number(r.value)}catch{}let n=r.value;if(typeof n=="number"&&!Number.isNaN(n)&&Number.isFinite(n))return r;let s=typeof n=="number"?Number.isNaN(n)?"NaN":Number.isFinite(n)?void 0:String(n):void 0;return r.issues.push({expected:"number",code:"invalid_type",input:n,inst:t,...s?{received:s}:{}}),r}}),gl=w("$ZodNumberFormat",(t,e)=>{gc.init(t,e),Qs.init(t,e)}),_l=w("$ZodBoolean",(t,e)=>{U.init(t,e),t._zod.pattern=dc,t._zod.parse=(r,o)=>{if(e.coerce)try{r.value=!!r.value}catch{}let n=r.value;return typeof n=="boolean"||r.issues.push({expected:"boolean",code:"invalid_type",input:n,inst:t}),r}}),wl=w("$ZodBigInt",(t,e)=>{U.init(t,e),t._zod.pattern=fc,t._zod.parse=(r,o)=>{if(e.coerce)try{r.value=BigInt(r.value)}catch{}return typeof r.value=="bigint"||r.issues.push({expected:"bigint",code:"invalid_type",input:r.value,inst:t}),r}});var xl=w("$ZodUnknown",(t,e)=>{U.init(t,e),t._zod.parse=r=>r}),yl=w("$ZodNever",(t,e)=>{U.init(t,e),t._zod.parse=(r,o)=>(r.issues.push({expected:"never",code:"invalid_type",input:r.value,inst:t}),r)});var bl=w("$ZodDate",(t,e)=>{U.init(t,e),t._zod.parse=(r,o)=>{if(e.coerce)try{r.value=new Date(r.value)}catch{}let n=r.value,s=n instanceof Date;return s&&!Number.isNaN(n.getTime())||r.issues.push({expected:"date",code:"invalid_type",input:n,...s?{received:"Invalid Date"}:{},inst:t}),r}});function ex(t,e){let r=Mo(t._zod.def.checks);if(!r.length)return;let o=Math.min(...r.map(s=>s[0])),n=t._zod.parse;t._zod.parse=(s,i)=>{let a=e(s.value);if(a>o&&!i?.skipChecks&&i?.direction!=="backward"){for(let[u,c]of Mo(t._zod.def.checks))if(a>u&&c._zod.def.when(s)){let l=s.issues.length;return c._zod.check(s),s.issues[l].continue=!1,Ar(s.issues,l,t),s}}return n(s,i)}}var tx=t=>Array.isArray(t)?t.length:-1;function Oc(t,e,r){t.issues.length&&e.issues.push(...Pe(r,t.issues)),e.value[r]=t.value}var vl=w("$ZodArray",(t,e)=>{U.init(t,e);let r=pe.memoizer;r?.attach(t),t._zod.parse=(o,n)=>{let s=o.value;if(!Array.isArray(s))return o.issues.push({expected:"array",code:"invalid_type",input:s,inst:t}),o;o.value=r?r.alloc(t,o,Array(s.length),n):Array(s.length);let i=[],a=n?.abortEarly;for(let u=0;u<s.length;u++){let c=s[u],l=e.element._zod.run({value:c,issues:[]},n);if(l instanceof Promise)i.push(l.then(f=>Oc(f,o,u)));else if(Oc(l,o,u),a&&l.issues.length!==0&&_e(l))break}return i.length?Promise.all(i).then(()=>o):o},ex(t,tx)});function jo(t,e,r,o,n,s){let i=r in o,a=s==="optional";if(!(!i&&a&&n==="optional")){if(t.issues.length){if(n!==void 0&&a&&!i)return;e.issues.push(...Pe(r,t.issues))}if(!i&&n===void 0){t.issues.length||e.issues.push({code:"invalid_type",expected:"nonoptional",input:void 0,path:[r]});return}t.value===void 0?(i||n==="defaulted"&&!a)&&(e.value[r]=void 0):e.value[r]=t.value}}var rx=[];function Sl(t){let e=Object.keys(t.shape),r=Object.getOwnPropertySymbols(t.shape),o=r.length?r:rx,n=o.length?[...e,...o]:e;for(let i of n)if(!t.shape?.[i]?._zod?.traits?.has("$ZodType"))throw new Error(`Invalid element at key "${String(i)}": expected a Zod schema`);let s=Ns(t.shape);return{...t,allKeys:n,symbolKeys:o,keySet:new Set(e),numKeys:e.length,optionalKeys:new Set(s)}}function kl(t,e,r,o,n,s,i){let a=[],u=n.keySet,c=n.catchall._zod,l=c.def.type,f=c.optin,d=c.optout,p=0;for(let m in e){if(i&&r.issues.length!==p){if(_e(r,p))break;p=r.issues.length}if(u.has(m))continue;if(m==="__proto__"){l==="never"&&a.push(m);continue}if(l==="never"){a.push(m);continue}let g=c.run({value:e[m],issues:[]},o);g instanceof Promise?t.push(g.then(h=>jo(h,r,m,e,f,d))):jo(g,r,m,e,f,d)}return a.length&&r.issues.push({code:"unrecognized_keys",keys:a,input:e,inst:s,continue:!0}),t.length?Promise.all(t).then(()=>r):r}var ox=w("$ZodObject",(t,e)=>{U.init(t,e);let r=Object.getOwnPropertyDescriptor(e,"shape"),o=r?.get?r.get.raw:e.shape??{};if(o){let c=()=>{let l={...o};return Object.defineProperty(e,"shape",{value:l}),c.raw=l,l};c.raw=o,Object.defineProperty(e,"shape",{get:c})}let n=vr(()=>Sl(e));C(t,"propValues",c=>{let l=c.def.shape,f={};for(let d in l){let p=l[d]._zod;if(p.values){Object.prototype.hasOwnProperty.call(f,d)||ve(f,d,new Set);for(let m of p.values)f[d].add(m);p.optin!==void 0&&f[d].add(void 0)}}return f});let s=jt,i=e.catchall,a,u=pe.memoizer;u?.attach(t),t._zod.parse=(c,l)=>{a??(a=n.value);let f=c.value;if(!s(f))return c.issues.push({expected:"object",code:"invalid_type",input:f,inst:t}),c;c.value=u?u.alloc(t,c,{},l):{};let d=[],p=a.shape,m=l?.abortEarly,g=c.issues.length;for(let h of a.allKeys){if(m&&c.issues.length!==g){if(_e(c,g))break;g=c.issues.length}if(h==="__proto__")continue;let _=p[h],x=_._zod.optin,A=_._zod.optout,M=_._zod.run({value:f[h],issues:[]},l);M instanceof Promise?d.push(M.then(k=>jo(k,c,h,f,x,A))):jo(M,c,h,f,x,A)}return i?kl(d,f,c,l,n.value,t,m===!0):d.length?Promise.all(d).then(()=>c):c}}),El=w("$ZodObjectJIT",(t,e)=>{ox.init(t,e);let r=t._zod.parse,o=vr(()=>Sl(e)),n=pe.memoizer,s=p=>{let m=o.value,g=m.symbolKeys,h=new Zo(["payload","ctx"],{shape:p,inst:t,memo:n,syms:g}),_=k=>`shape[${k}]._zod.run({ value: input[${k}], issues: [] }, ctx)`,x=(k,I)=>`
          let ${k}_ab = false;
          for (let i = 0; i < ${k}.issues.length; i++) {
            const iss = ${k}.issues[i];
            iss.path = iss.path ? [${I}, ...iss.path] : [${I}];
            payload.issues.push(iss);
            if (iss.continue !== true) ${k}_ab = true;
          }
          if (${k}_ab && ctx && ctx.abortEarly) {
            payload.value = newResult;
            return payload;
          }`;h.write("const input = payload.value;");let A=Object.create(null),M=0;for(let k of m.allKeys)A[k]=`key_${M++}`;h.write(n?"const newResult = memo.alloc(inst, payload, {}, ctx);":"const newResult = {};");for(let k of m.allKeys){if(k==="__proto__")continue;let I=A[k],L=typeof k=="symbol"?`syms[${g.indexOf(k)}]`:Ps(k),G=`${L} in input`,q=p[k],$e=q?._zod?.optin,Xe=$e!==void 0,X=q?._zod?.optout==="optional";if(h.write(`const ${I} = ${_(L)};`),Xe&&X){let ut=$e==="optional"?`${I}_present`:`${I}.value !== undefined || ${I}_present`;h.write(`
        const ${I}_present = ${G};
        if (!${I}.issues.length || ${I}_present) {
          if (${I}.issues.length) {${x(I,L)}
          }

          if (${ut}) {
            newResult[${L}] = ${I}.value;
          }
        }

      `)}else Xe?(h.write(`
        if (${I}.issues.length) {${x(I,L)}
        }
      `),$e==="defaulted"?h.write(`newResult[${L}] = ${I}.value;`):h.write(`
        if (${I}.value !== undefined || ${G}) {
          newResult[${L}] = ${I}.value;
        }
      `)):h.write(`
        const ${I}_present = ${G};
        if (${I}.issues.length) {${x(I,L)}
        }
        if (!${I}_present && !${I}.issues.length) {
          payload.issues.push({
            code: "invalid_type",
            expected: "nonoptional",
            input: undefined,
            path: [${L}]
          });
          if (ctx && ctx.abortEarly) {
            payload.value = newResult;
            return payload;
          }
        }

        if (${I}_present) {
          newResult[${L}] = ${I}.value;
        }

      `)}return h.write("payload.value = newResult;"),h.write("return payload;"),h.compile()},i,a=jt,u=!pe.jitless,l=u&&Is.value,f=e.catchall,d;t._zod.parse=(p,m)=>{d??(d=o.value);let g=p.value;return a(g)?u&&l&&m?.async===!1&&m.jitless!==!0?(i||(i=s(e.shape)),p=i(p,m),f?kl([],g,p,m,d,t,m?.abortEarly===!0):p):r(p,m):(p.issues.push({expected:"object",code:"invalid_type",input:g,inst:t}),p)}});function Pc(t,e,r,o){for(let s of t)if(s.issues.length===0)return e.value=s.value,e;let n=t.filter(s=>!_e(s));return n.length===1?(e.value=n[0].value,n[0]):(e.issues.push({code:"invalid_union",input:e.value,inst:r,errors:t.map(s=>s.issues.map(i=>Me(i,o,we())))}),e)}var Al=w("$ZodUnion",(t,e)=>{U.init(t,e),C(t,"optin",o=>o.def.options.some(n=>n._zod.optin==="defaulted")?"defaulted":o.def.options.some(n=>n._zod.optin!==void 0)?"optional":void 0),C(t,"optout",o=>o.def.options.some(n=>n._zod.optout==="optional")?"optional":void 0),C(t,"values",o=>{if(o.def.options.every(n=>n._zod.values))return new Set(o.def.options.flatMap(n=>Array.from(n._zod.values)))}),C(t,"pattern",o=>{if(o.def.options.every(n=>n._zod.pattern)){let n=o.def.options.map(s=>s._zod.pattern);return new RegExp(`^(${n.map(s=>Sr(s.source)).join("|")})$`)}});let r=e.options.length===1?e.options[0]._zod.run:null;t._zod.parse=(o,n)=>{if(r)return r(o,n);let s=!1,i=[];for(let a of e.options){let u=a._zod.run({value:o.value,issues:[]},n);if(u instanceof Promise)i.push(u),s=!0;else{if(u.issues.length===0)return u;i.push(u)}}return s?Promise.all(i).then(a=>Pc(a,o,t,n)):Pc(i,o,t,n)}});var Tl=w("$ZodIntersection",(t,e)=>{U.init(t,e),t._zod.parse=(r,o)=>{let n=r.value,s=e.left._zod.run({value:n,issues:[]},o),i=e.right._zod.run({value:n,issues:[]},o);return s instanceof Promise||i instanceof Promise?Promise.all([s,i]).then(([u,c])=>Mc(r,u,c)):Mc(r,s,i)}});function Ys(t,e){if(t===e)return{valid:!0,data:t};if(t instanceof Date&&e instanceof Date&&+t==+e)return{valid:!0,data:t};if(ft(t)&&ft(e)){let r=Object.keys(e),o=Object.keys(t).filter(s=>r.indexOf(s)!==-1),n={...t,...e};Object.prototype.hasOwnProperty.call(n,"__proto__")&&delete n.__proto__;for(let s of o){if(s==="__proto__")continue;let i=Ys(t[s],e[s]);if(!i.valid)return{valid:!1,mergeErrorPath:[s,...i.mergeErrorPath]};n[s]=i.data}return{valid:!0,data:n}}if(Array.isArray(t)&&Array.isArray(e)){if(t.length!==e.length)return{valid:!1,mergeErrorPath:[]};let r=[];for(let o=0;o<t.length;o++){let n=t[o],s=e[o],i=Ys(n,s);if(!i.valid)return{valid:!1,mergeErrorPath:[o,...i.mergeErrorPath]};r.push(i.data)}return{valid:!0,data:r}}return{valid:!1,mergeErrorPath:[]}}function Mc(t,e,r){let o=new Map,n,s=new Map,i=(c,l)=>{let f;if(c.code==="unrecognized_keys"&&!c.path?.length)n??(n=c),f=c.keys;else if(c.code==="invalid_key"&&c.origin==="record"&&c.path?.length===1){let d=String(c.path[0]);s.has(d)||s.set(d,c),f=[d]}else return!1;for(let d of f)o.has(d)||o.set(d,{}),o.get(d)[l]=!0;return!0};for(let c of e.issues)i(c,"l")||t.issues.push(c);for(let c of r.issues)i(c,"r")||t.issues.push(c);let a=[...o].filter(([,c])=>c.l&&c.r).map(([c])=>c);if(a.length){let c=n?a.filter(l=>n.keys.includes(l)):[];c.length&&t.issues.push({...n,keys:c});for(let l of a)!c.includes(l)&&s.has(l)&&t.issues.push(s.get(l))}let u=Ys(e.value,r.value);if(!u.valid){if(_e(t))return t;throw new Error(`Unmergable intersection. Error path: ${JSON.stringify(u.mergeErrorPath)}`)}return t.value=u.data,t}var zl=w("$ZodTuple",(t,e)=>{U.init(t,e);let r=e.items,o=pe.memoizer;o?.attach(t),t._zod.parse=(n,s)=>{let i=n.value;if(!Array.isArray(i))return n.issues.push({input:i,inst:t,expected:"tuple",code:"invalid_type"}),n;n.value=o?o.alloc(t,n,[],s):[];let a=[],u=Ic(r,"optin"),c=Ic(r,"optout");if(!e.rest){if(i.length<u)return n.issues.push({code:"too_small",minimum:u,inclusive:!0,input:i,inst:t,origin:"array"}),n;i.length>r.length&&n.issues.push({code:"too_big",maximum:r.length,inclusive:!0,input:i,inst:t,origin:"array"})}let l=new Array(r.length),f=e.rest?s?.abortEarly:void 0,d=!1;for(let p=0;p<r.length;p++){let m=r[p]._zod.run({value:i[p],issues:[]},s);m instanceof Promise?a.push(m.then(g=>{l[p]=g})):(l[p]=m,f&&!d&&m.issues.length&&(d=_e(m)))}if(e.rest&&!d){let p=r.length-1,m=i.slice(r.length),g=n.issues.length;for(let h of m){if(f&&n.issues.length!==g){if(_e(n,g))break;g=n.issues.length}p++;let _=e.rest._zod.run({value:h,issues:[]},s);_ instanceof Promise?a.push(_.then(x=>Rc(x,n,p))):Rc(_,n,p)}}return a.length?Promise.all(a).then(()=>Nc(l,n,r,i,c)):Nc(l,n,r,i,c)}});function Ic(t,e){for(let r=t.length-1;r>=0;r--)if(!(e==="optin"?t[r]._zod.optin!==void 0:t[r]._zod.optout==="optional"))return r+1;return 0}function Rc(t,e,r){t.issues.length&&e.issues.push(...Pe(r,t.issues)),e.value[r]=t.value}function Nc(t,e,r,o,n){for(let s=0;s<r.length;s++){let i=t[s],a=s<o.length;if(!a&&s>=n&&r[s]._zod.optin==="optional"){e.value.length=s;break}if(i.issues.length){if(!a&&s>=n){e.value.length=s;break}e.issues.push(...Pe(s,i.issues))}e.value[s]=i.value}for(let s=e.value.length-1;s>=o.length&&(r[s]._zod.optout==="optional"&&e.value[s]===void 0);s--)e.value.length=s;return e}var $l=w("$ZodRecord",(t,e)=>{U.init(t,e);let r=pe.memoizer;r?.attach(t),t._zod.parse=(o,n)=>{let s=o.value;if(!ft(s))return o.issues.push({expected:"record",code:"invalid_type",input:s,inst:t}),o;let i=[],a=e.keyType._zod.values;if(a&&!e.partial){o.value=r?r.alloc(t,o,{},n):{};let u=new Set;for(let l of a)if(typeof l=="string"||typeof l=="number"||typeof l=="symbol"){if(u.add(typeof l=="number"?l.toString():l),l==="__proto__")continue;let f=e.keyType._zod.run({value:l,issues:[]},n);if(f instanceof Promise)throw new Error("Async schemas not supported in object keys currently");if(f.issues.length){o.issues.push({code:"invalid_key",origin:"record",issues:f.issues.map(m=>Me(m,n,we())),input:l,path:[l],inst:t});continue}let d=f.value;if(d==="__proto__")continue;let p=e.valueType._zod.run({value:s[l],issues:[]},n);p instanceof Promise?i.push(p.then(m=>{m.issues.length&&o.issues.push(...Pe(l,m.issues)),o.value[d]=m.value})):(p.issues.length&&o.issues.push(...Pe(l,p.issues)),o.value[d]=p.value)}let c;for(let l in s)if(!u.has(l))if(e.mode==="loose"){if(l==="__proto__")continue;o.value[l]=s[l]}else c=c??[],c.push(l);c&&c.length>0&&o.issues.push({code:"unrecognized_keys",input:s,inst:t,keys:c,continue:!0})}else{o.value=r?r.alloc(t,o,{},n):{};let u;for(let c of Reflect.ownKeys(s)){if(c==="__proto__"||!Object.prototype.propertyIsEnumerable.call(s,c))continue;let l=e.keyType._zod.run({value:c,issues:[]},n);if(l instanceof Promise)throw new Error("Async schemas not supported in object keys currently");if(typeof c=="string"&&$r.test(c)&&l.issues.length){let m=e.keyType._zod.run({value:Number(c),issues:[]},n);if(m instanceof Promise)throw new Error("Async schemas not supported in object keys currently");m.issues.length===0&&(l=m)}if(l.issues.length){e.mode==="loose"?o.value[c]=s[c]:a?(u=u??[],u.push(c)):o.issues.push({code:"invalid_key",origin:"record",issues:l.issues.map(m=>Me(m,n,we())),input:c,path:[c],inst:t});continue}let d=l.value;if(d==="__proto__")continue;let p=e.valueType._zod.run({value:s[c],issues:[]},n);p instanceof Promise?i.push(p.then(m=>{m.issues.length&&o.issues.push(...Pe(c,m.issues)),o.value[d]=m.value})):(p.issues.length&&o.issues.push(...Pe(c,p.issues)),o.value[d]=p.value)}u&&u.length>0&&o.issues.push({code:"unrecognized_keys",input:s,inst:t,keys:u,continue:!0})}return i.length?Promise.all(i).then(()=>o):o}});var Ol=w("$ZodEnum",(t,e)=>{U.init(t,e);let r=Ft(e.entries),o=new Set(r);t._zod.values=o,C(t,"pattern",n=>{let s=Ft(n.def.entries).filter(i=>Rs.has(typeof i));return new RegExp(s.length?`^(${s.map(i=>tt(i.toString())).join("|")})$`:"^[^\\s\\S]$")}),t._zod.parse=(n,s)=>{let i=n.value;return o.has(i)||n.issues.push({code:"invalid_value",values:r,input:i,inst:t}),n}}),Pl=w("$ZodLiteral",(t,e)=>{U.init(t,e);let r=new Set(e.values);t._zod.values=r,C(t,"pattern",o=>{let n=o.def.values;return new RegExp(n.length?`^(${n.map(s=>typeof s=="string"?tt(s):s?tt(s.toString()):String(s)).join("|")})$`:"^[^\\s\\S]$")}),t._zod.parse=(o,n)=>{let s=o.value;return r.has(s)||o.issues.push({code:"invalid_value",values:e.values,input:s,inst:t}),o}});var Ml=w("$ZodTransform",(t,e)=>{U.init(t,e),t._zod.optin="optional",pe.memoizer?.guard(t),t._zod.parse=(r,o)=>{if(o.direction==="backward")throw new Gt(t.constructor.name);let n=e.transform(r.value,r);if(o.async)return(n instanceof Promise?n:Promise.resolve(n)).then(i=>(r.value=i,r));if(n instanceof Promise)throw new Ie;return r.value=n,r}});function Lc(t,e){return t.value=e.issues.length?void 0:e.value,t}var ei=w("$ZodOptional",(t,e)=>{U.init(t,e),C(t,"optin",r=>r.def.innerType._zod.optin==="defaulted"?"defaulted":"optional"),t._zod.optout="optional",C(t,"values",r=>{let o=r.def.innerType._zod.values;return o?new Set([...o,void 0]):void 0}),C(t,"pattern",r=>{let o=r.def.innerType._zod.pattern;return o?new RegExp(`^(${Sr(o.source)})?$`):void 0}),t._zod.parse=(r,o)=>{if(r.value===void 0){if(e.innerType._zod.optin!=="defaulted")return r;let n=e.innerType._zod.run({value:r.value,issues:[]},o);return n instanceof Promise?n.then(s=>Lc(r,s)):Lc(r,n)}return e.innerType._zod.run(r,o)}}),Il=w("$ZodExactOptional",(t,e)=>{ei.init(t,e),C(t,"values",r=>r.def.innerType._zod.values),C(t,"pattern",r=>r.def.innerType._zod.pattern),t._zod.parse=(r,o)=>e.innerType._zod.run(r,o)}),Rl=w("$ZodNullable",(t,e)=>{U.init(t,e),C(t,"optin",r=>r.def.innerType._zod.optin),C(t,"optout",r=>r.def.innerType._zod.optout),C(t,"pattern",r=>{let o=r.def.innerType._zod.pattern;return o?new RegExp(`^(${Sr(o.source)}|null)$`):void 0}),C(t,"values",r=>r.def.innerType._zod.values?new Set([...r.def.innerType._zod.values,null]):void 0),t._zod.parse=(r,o)=>r.value===null?r:e.innerType._zod.run(r,o)}),Nl=w("$ZodDefault",(t,e)=>{U.init(t,e),t._zod.optin="defaulted",C(t,"values",r=>r.def.innerType._zod.values),t._zod.parse=(r,o)=>{if(o.direction==="backward")return e.innerType._zod.run(r,o);if(r.value===void 0)return r.value=e.defaultValue,r;let n=e.innerType._zod.run(r,o);return n instanceof Promise?n.then(s=>Cc(s,e)):Cc(n,e)}});function Cc(t,e){return t.value===void 0&&(t.value=e.defaultValue),t}var Ll=w("$ZodPrefault",(t,e)=>{U.init(t,e),t._zod.optin="defaulted",C(t,"values",r=>r.def.innerType._zod.values),t._zod.parse=(r,o)=>(o.direction==="backward"||r.value===void 0&&(r.value=e.defaultValue),e.innerType._zod.run(r,o))}),Cl=w("$ZodNonOptional",(t,e)=>{U.init(t,e),C(t,"values",r=>{let o=r.def.innerType._zod.values;return o?new Set([...o].filter(n=>n!==void 0)):void 0}),t._zod.parse=(r,o)=>{let n=e.innerType._zod.run(r,o);return n instanceof Promise?n.then(s=>Dc(s,t)):Dc(n,t)}});function Dc(t,e){return!t.issues.length&&t.value===void 0&&t.issues.push({code:"invalid_type",expected:"nonoptional",input:t.value,inst:e}),t}function Bc(t,e,r,o){return e.issues.length?(t.value=r.catchValue({...e,value:t.value,error:{issues:e.issues.map(n=>Me(n,o,we()))},input:t.value}),t):(t.value=e.value,e.memo&&(t.memo=!0),t)}var Dl=w("$ZodCatch",(t,e)=>{U.init(t,e),C(t,"optin",r=>r.def.innerType._zod.optin==="defaulted"?"defaulted":"optional"),C(t,"optout",r=>r.def.innerType._zod.optout),C(t,"values",r=>r.def.innerType._zod.values),t._zod.parse=(r,o)=>{if(o.direction==="backward")return e.innerType._zod.run(r,o);let n=e.innerType._zod.run({value:r.value,issues:[]},o);return n instanceof Promise?n.then(s=>Bc(r,s,e,o)):Bc(r,n,e,o)}});var Bl=w("$ZodPipe",(t,e)=>{U.init(t,e),C(t,"values",r=>r.def.in._zod.values),C(t,"optin",r=>r.def.in._zod.optin),C(t,"optout",r=>r.def.out._zod.optout),C(t,"propValues",r=>r.def.in._zod.propValues),t._zod.parse=(r,o)=>{if(o.direction==="backward"){let s=e.out._zod.run(r,o);return s instanceof Promise?s.then(i=>Uo(i,e.in,o)):Uo(s,e.in,o)}let n=e.in._zod.run(r,o);return n instanceof Promise?n.then(s=>Uo(s,e.out,o)):Uo(n,e.out,o)}});function Uo(t,e,r){return t.issues.some(o=>o.code!=="unrecognized_keys")?(t.aborted=!0,t):e._zod.run({value:t.value,issues:t.issues},r)}var Zl=w("$ZodReadonly",(t,e)=>{U.init(t,e),C(t,"propValues",r=>r.def.innerType._zod.propValues),C(t,"values",r=>r.def.innerType._zod.values),C(t,"optin",r=>r.def.innerType?._zod?.optin),C(t,"optout",r=>r.def.innerType?._zod?.optout),t._zod.parse=(r,o)=>{if(o.direction==="backward")return e.innerType._zod.run(r,o);let n=e.innerType._zod.run(r,o);return n instanceof Promise?n.then(Zc):Zc(n)}});function Zc(t){return t.memo||(t.value=Object.freeze(t.value)),t}var Ul=w("$ZodCustom",(t,e)=>{ie.init(t,e),U.init(t,e),t._zod.parse=(r,o)=>r,t._zod.check=r=>{let o=r.value,n=e.fn(o);if(n instanceof Promise)return n.then(s=>Uc(s,r,o,t));Uc(n,r,o,t)}});function Uc(t,e,r,o){if(!t){let n={code:"custom",input:r,inst:o,path:[...o._zod.def.path??[]],continue:!o._zod.def.abort};o._zod.def.params&&(n.params=o._zod.def.params),e.issues.push(Kt(n))}}var ri=class extends Error{constructor(){super("Cannot parse a reference cycle that closes through a transform"),this.name="ZodCyclicError"}},oi="~memo",ql=[];function jl(t){return t!==null&&typeof t=="object"}function ti(t){return t.map(e=>e.path?{...e,path:e.path.slice()}:{...e})}var Fl=new WeakMap,Mr=0,Vo=1,Ir=2;function Wo(t,e,r){let o=Fl.get(t);if(o!==void 0)return o?Ir:Mr;if(e.has(t))return Ir;e.add(t);let n=Mr,s=l=>{if(n!==Ir&&l?._zod){let f=Wo(l,e,r);f>n&&(n=f)}},i=(l,f)=>{let d=Mr;for(let p of Reflect.ownKeys(l)){let m=Object.getOwnPropertyDescriptor(l,p);if(f&&!m.enumerable)continue;let g=m.get?Vo:m.value?._zod?Wo(m.value,e,r):Mr;g>d&&(d=g)}return d},a=l=>{l>n&&(n=l)},u=t._zod.def,c=u.type;switch(c){case"object":{let l=kr(u);a(l?i(l,!0):Vo),s(u.catchall);break}case"array":s(u.element);break;case"tuple":for(let l of u.items)s(l);s(u.rest);break;case"record":case"map":s(u.keyType),s(u.valueType);break;case"set":s(u.valueType);break;case"union":for(let l of u.options)s(l);break;case"intersection":s(u.left),s(u.right);break;case"optional":case"nullable":case"default":case"prefault":case"catch":case"readonly":case"nonoptional":case"promise":case"success":s(u.innerType);break;case"pipe":s(u.in),s(u.out);break;case"function":s(u.input),s(u.output);break;case"lazy":{let l=u._cachedInner??(r?t._zod.innerType:void 0);a(l?Wo(l,e,!1):Vo);break}case"template_literal":case"string":case"number":case"int":case"boolean":case"bigint":case"symbol":case"undefined":case"null":case"void":case"never":case"any":case"unknown":case"date":case"nan":case"enum":case"literal":case"file":case"transform":case"custom":break;default:for(let l in u){let f=Object.getOwnPropertyDescriptor(u,l);if(!f||f.get)continue;let d=f.value;if(!(!d||typeof d!="object")){if(d._zod)s(d);else if(Array.isArray(d))for(let p of d)s(p)}}}return e.delete(t),nx(t,n)}function nx(t,e){return e!==Vo&&Fl.set(t,e===Ir),e}function sx(t,e){let r=t.buckets.get(e);return r||(r=new WeakMap,t.buckets.set(e,r)),r}var Ko,Go=[],ix={alloc(t,e,r){let o=Ko;if(!o)return r;Ko=void 0;let n={value:r,issues:null};return o.set(e.value,n),Go.push(n),r},guard(t){var e;(e=t._zod).deferred??(e.deferred=[]),t._zod.deferred.push(()=>{let r=t._zod.parse,o=(n,s)=>{if(s.direction!=="backward"&&ax(s,n.value))throw new ri;return r(n,s)};t._zod.parse=o,t._zod.run===r&&(t._zod.run=o)})},attach(t){var e;let r,o=!1,n,s;(e=t._zod).deferred??(e.deferred=[]),t._zod.deferred.push(()=>{let i=t._zod.parse,a=(u,c)=>{if(r===void 0){let _=Wo(t,new Set,!1);if(_===Mr)return t._zod.parse=i,t._zod.run===a&&(t._zod.run=i),i(u,c);_===Ir||o?r=!0:o=!0}let l=u.value;if(!jl(l))return i(u,c);let f=c[oi];f||(f={buckets:new WeakMap,backEdges:void 0},c[oi]=f);let d;n===c?d=s:(d=sx(f,t),n=c,s=d);let p=d.get(l);if(p)return u.value=p.value,p.issues?p.issues.length&&u.issues.push(...ti(p.issues)):(u.memo=!0,f.backEdges??(f.backEdges=new WeakSet),f.backEdges.add(p.value)),u;Ko=d;let m=Go.length,g=i(u,c);Ko=void 0;let h=Go.length>m?Go.pop():void 0;return g instanceof Promise?g.then(_=>(h&&(h.issues=_.issues.length?ti(_.issues):ql),_)):(h&&(h.issues=g.issues.length?ti(g.issues):ql),g)};t._zod.parse=a,t._zod.run===i&&(t._zod.run=a)})}};function Hl(){return ix}function ax(t,e){let r=t[oi]?.backEdges;return r!==void 0&&jl(e)&&r.has(e)}var ux=()=>{let t={string:{unit:"characters",verb:"to have"},file:{unit:"bytes",verb:"to have"},array:{unit:"items",verb:"to have"},set:{unit:"items",verb:"to have"},map:{unit:"entries",verb:"to have"}};function e(s){return t[s]??null}let r={regex:"input",email:"email address",url:"URL",emoji:"emoji",uuid:"UUID",uuidv4:"UUIDv4",uuidv6:"UUIDv6",nanoid:"nanoid",guid:"GUID",cuid:"cuid",cuid2:"cuid2",ulid:"ULID",xid:"XID",ksuid:"KSUID",datetime:"ISO datetime",date:"ISO date",time:"ISO time",duration:"ISO duration",ipv4:"IPv4 address",ipv6:"IPv6 address",mac:"MAC address",cidrv4:"IPv4 range",cidrv6:"IPv6 range",base64:"base64-encoded string",base64url:"base64url-encoded string",json_string:"JSON string",e164:"E.164 number",currency_code:"currency code",credit_card:"credit card number",iban:"IBAN",jwt:"JWT",template_literal:"input"},o={nan:"NaN"};function n(s,i){return s==="number"&&typeof i=="number"&&!Number.isFinite(i)?String(i):o[s]??s}return s=>{switch(s.code){case"invalid_type":{let i=n(s.expected),a=Cs(s.input),u=n(a,s.input);return`Invalid input: expected ${i}, received ${u}`}case"invalid_value":return s.values.length===1?`Invalid input: expected ${$o(s.values[0])}`:`Invalid option: expected one of ${To(s.values,"|")}`;case"too_big":{let i=s.exact?"exactly ":s.inclusive?"<=":"<",a=e(s.origin);return a?`Too big: expected ${s.origin??"value"} to have ${i}${s.maximum.toString()} ${a.unit??"elements"}`:`Too big: expected ${s.origin??"value"} to be ${i}${s.maximum.toString()}`}case"too_small":{let i=s.exact?"exactly ":s.inclusive?">=":">",a=e(s.origin);return a?`Too small: expected ${s.origin} to have ${i}${s.minimum.toString()} ${a.unit}`:`Too small: expected ${s.origin} to be ${i}${s.minimum.toString()}`}case"invalid_format":{let i=s;return i.format==="starts_with"?`Invalid string: must start with "${i.prefix}"`:i.format==="ends_with"?`Invalid string: must end with "${i.suffix}"`:i.format==="includes"?`Invalid string: must include "${i.includes}"`:i.format==="regex"?`Invalid string: must match pattern ${i.pattern}`:`Invalid ${r[i.format]??s.format}`}case"not_multiple_of":return`Invalid number: must be a multiple of ${s.divisor}`;case"unrecognized_keys":return`Unrecognized key${s.keys.length>1?"s":""}: ${To(s.keys,", ")}`;case"invalid_key":return`Invalid key in ${s.origin}`;case"invalid_union":return s.options&&Array.isArray(s.options)&&s.options.length>0?`Invalid discriminator value. Expected ${s.options.map(a=>`'${a}'`).join(" | ")}`:s.inclusive===!1?"Invalid input: more than one option matched":"Invalid input";case"invalid_element":return`Invalid value in ${s.origin}`;default:return"Invalid input"}}};function Kl(){return{localeError:ux()}}var Gl;var ni=class{constructor(){this._map=new WeakMap,this._idmap=new Map}add(e,...r){let o=r[0];return this._map.set(e,o),o&&typeof o=="object"&&"id"in o&&this._idmap.set(o.id,e),this}clear(){return this._map=new WeakMap,this._idmap=new Map,this}remove(e){let r=this._map.get(e);return r&&typeof r=="object"&&"id"in r&&this._idmap.delete(r.id),this._map.delete(e),this}get(e){let r=e._zod.parent;if(r){let o={...this.get(r)??{}};delete o.id;let n={...o,...this._map.get(e)};return Object.keys(n).length?n:void 0}return this._map.get(e)}has(e){return this._map.has(e)}};function cx(){return new ni}(Gl=globalThis).__zod_globalRegistry??(Gl.__zod_globalRegistry=cx());var yt=globalThis.__zod_globalRegistry;function Yo(t){return t.checks&&(t.checks=[...t.checks]),t}function Vl(t,e){return new t(Yo({type:"string",...E(e)}))}function Wl(t,e){return new t(Yo({type:"string",coerce:!0,...E(e)}))}function Yl(t,e){return new t({type:"string",format:"email",check:"string_format",abort:!1,...E(e)})}function Jl(t,e){return new t({type:"string",format:"guid",check:"string_format",abort:!1,...E(e)})}function Xl(t,e){return new t({type:"string",format:"uuid",check:"string_format",abort:!1,...E(e)})}function Ql(t,e){return new t({type:"string",format:"uuid",check:"string_format",abort:!1,version:"v4",...E(e)})}function ef(t,e){return new t({type:"string",format:"uuid",check:"string_format",abort:!1,version:"v6",...E(e)})}function tf(t,e){return new t({type:"string",format:"uuid",check:"string_format",abort:!1,version:"v7",...E(e)})}function rf(t,e){return new t({type:"string",format:"url",check:"string_format",abort:!1,...E(e)})}function of(t,e){return new t({type:"string",format:"emoji",check:"string_format",abort:!1,...E(e)})}function nf(t,e){return new t({type:"string",format:"nanoid",check:"string_format",abort:!1,...E(e)})}function sf(t,e){return new t({type:"string",format:"cuid",check:"string_format",abort:!1,...E(e)})}function af(t,e){return new t({type:"string",format:"cuid2",check:"string_format",abort:!1,...E(e)})}function uf(t,e){return new t({type:"string",format:"ulid",check:"string_format",abort:!1,...E(e)})}function cf(t,e){return new t({type:"string",format:"xid",check:"string_format",abort:!1,...E(e)})}function lf(t,e){return new t({type:"string",format:"ksuid",check:"string_format",abort:!1,...E(e)})}function ff(t,e){return new t({type:"string",format:"ipv4",check:"string_format",abort:!1,...E(e)})}function df(t,e){return new t({type:"string",format:"ipv6",check:"string_format",abort:!1,...E(e)})}function pf(t,e){return new t({type:"string",format:"cidrv4",check:"string_format",abort:!1,...E(e)})}function mf(t,e){return new t({type:"string",format:"cidrv6",check:"string_format",abort:!1,...E(e)})}function hf(t,e){return new t({type:"string",format:"base64",check:"string_format",abort:!1,...E(e)})}function gf(t,e){return new t({type:"string",format:"base64url",check:"string_format",abort:!1,...E(e)})}function _f(t,e){return new t({type:"string",format:"e164",check:"string_format",abort:!1,...E(e)})}function wf(t,e){return new t({type:"string",format:"jwt",check:"string_format",abort:!1,...E(e)})}function xf(t,e){return new t({type:"string",format:"datetime",check:"string_format",offset:!1,local:!1,precision:null,...E(e)})}function yf(t,e){return new t({type:"string",format:"date",check:"string_format",...E(e)})}function bf(t,e){return new t({type:"string",format:"time",check:"string_format",precision:null,...E(e)})}function vf(t,e){return new t({type:"string",format:"duration",check:"string_format",...E(e)})}function Sf(t,e){return new t(Yo({type:"number",checks:[],...E(e)}))}function kf(t,e){return new t(Yo({type:"number",coerce:!0,checks:[],...E(e)}))}function Ef(t,e){return new t({type:"number",check:"number_format",abort:!1,format:"safeint",...E(e)})}function Af(t,e){return new t({type:"boolean",...E(e)})}function Tf(t,e){return new t({type:"boolean",coerce:!0,...E(e)})}function zf(t,e){return new t({type:"bigint",coerce:!0,...E(e)})}function $f(t){return new t({type:"unknown"})}function Of(t,e){return new t({type:"never",...E(e)})}function Pf(t,e){return new t({type:"date",coerce:!0,...E(e)})}function Vt(t,e){return new Vs({check:"less_than",...E(e),value:t,inclusive:!1})}function rt(t,e){return new Vs({check:"less_than",...E(e),value:t,inclusive:!0})}function Wt(t,e){return new Ws({check:"greater_than",...E(e),value:t,inclusive:!1})}function ot(t,e){return new Ws({check:"greater_than",...E(e),value:t,inclusive:!0})}function Rr(t,e){return new hc({check:"multiple_of",...E(e),value:t})}function Jo(t,e){return new _c({check:"max_length",...E(e),maximum:t})}function Yt(t,e){return new wc({check:"min_length",...E(e),minimum:t})}function Xo(t,e){return new xc({check:"length_equals",...E(e),length:t})}function si(t,e){return new yc({check:"string_format",format:"regex",...E(e),pattern:t})}function ii(t){return new bc({check:"string_format",format:"lowercase",...E(t)})}function ai(t){return new vc({check:"string_format",format:"uppercase",...E(t)})}function ui(t,e){return new Sc({check:"string_format",format:"includes",...E(e),includes:t})}function ci(t,e){return new kc({check:"string_format",format:"starts_with",...E(e),prefix:t})}function li(t,e){return new Ec({check:"string_format",format:"ends_with",...E(e),suffix:t})}function dt(t){return new Ac({check:"overwrite",tx:t})}function fi(t){return dt(e=>e.normalize(t))}function di(){return dt(t=>t.trim())}function pi(){return dt(t=>t.toLowerCase())}function mi(){return dt(t=>t.toUpperCase())}function hi(){return dt(t=>Ms(t))}function Mf(t,e,r){return new t({type:"array",element:e,...E(r)})}function If(t,e,r){return new t({type:"custom",check:"custom",fn:e,...E(r)})}function Rf(t,e){let r=lx(o=>(o.addIssue=n=>{if(typeof n=="string")o.issues.push(Kt(n,o.value,r._zod.def));else{let s=n;s.fatal&&(s.continue=!1),s.code??(s.code="custom"),"input"in s||(s.input=o.value),s.inst??(s.inst=r),s.continue??(s.continue=!r._zod.def.abort),o.issues.push(Kt(s))}},t(o.value,o)),e);return r}function lx(t,e){let r=new ie({check:"custom",...E(e)});return r._zod.check=t,r}function Nr(t,...e){for(let r of e)for(let o of Reflect.ownKeys(r))Object.prototype.propertyIsEnumerable.call(r,o)&&ve(t,o,r[o]);return t}function _i(t){let e=t?.target??"draft-2020-12";return e==="draft-4"&&(e="draft-04"),e==="draft-7"&&(e="draft-07"),{processors:t.processors??{},metadataRegistry:t?.metadata??yt,target:e,unrepresentable:t?.unrepresentable??"throw",override:t?.override??(()=>{}),io:t?.io??"output",counter:0,seen:new Map,sharedDefsExtractedFor:void 0,sharedEmitDoneFor:void 0,cycles:t?.cycles??"ref",reused:t?.reused??"inline",intersections:[],deferred:[],external:t?.external??void 0}}function Re(t,e,r,o,n){let s=typeof e.unrepresentable=="function"?e.unrepresentable({zodSchema:t,path:o.path,message:n}):e.unrepresentable;if(s==="any")return!1;if(s===void 0||s==="throw")throw new Error(n);return Object.assign(r,s),!0}function V(t,e,r={path:[],schemaPath:[]}){var o;let n=t._zod.def,s=e.seen.get(t);if(s)return s.count++,r.schemaPath.includes(t)&&(s.cycle=r.path),s.schema;let i={schema:{},count:1,cycle:void 0,path:r.path};e.seen.set(t,i),e.sharedDefsExtractedFor=void 0,e.sharedEmitDoneFor=void 0;let a=t._zod.toJSONSchema?.();if(a)i.schema=a;else{let l={...r,schemaPath:[...r.schemaPath,t],path:r.path};if(t._zod.processJSONSchema)t._zod.processJSONSchema(e,i.schema,l);else{let d=i.schema,p=e.processors[n.type];if(!p)throw new Error(`[toJSONSchema]: Non-representable type encountered: ${n.type}`);p(t,e,d,l)}let f=t._zod.parent;f&&(i.ref||(i.ref=f),V(f,e,l),e.seen.get(f).isParent=!0)}let u=e.metadataRegistry.get(t);return u&&Nr(i.schema,u),e.io==="input"&&me(t)&&(delete i.schema.examples,delete i.schema.default),e.io==="input"&&"_prefault"in i.schema&&((o=i.schema).default??(o.default=i.schema._prefault)),delete i.schema._prefault,e.seen.get(t).schema}function Nf(t){return t.replace(/~/g,"~0").replace(/\//g,"~1")}function wi(t,e){let r=t.seen.get(e);if(!r)throw new Error("Unprocessed schema. This is a bug in Zod.");if(t.external&&t.sharedDefsExtractedFor===t.external)return;let o=new Map;for(let i of t.seen.entries()){let a=t.metadataRegistry.get(i[0])?.id;if(a){let u=o.get(a);if(u&&u!==i[0])throw new Error(`Duplicate schema id "${a}" detected during JSON Schema conversion. Two different schemas cannot share the same id when converted together.`);o.set(a,i[0])}}let n=i=>{let a=t.target==="draft-2020-12"?"$defs":"definitions";if(t.external){let f=t.external.registry.get(i[0])?.id,d=t.external.uri??(m=>m);if(f)return{ref:d(f)};let p=i[1].defId??i[1].schema.id??`schema${t.counter++}`;return i[1].defId=p,{defId:p,ref:`${d("__shared")}#/${a}/${Nf(p)}`}}let u="#",c=`${u}/${a}/`;if(i[1]===r&&!i[1].schema.id)return{ref:u};let l=i[1].schema.id??`__schema${t.counter++}`;return{defId:l,ref:c+Nf(l)}},s=i=>{if(i[1].schema.$ref)return;let a=i[1],{ref:u,defId:c}=n(i);a.def={...a.schema},c&&(a.defId=c);let l=a.schema;for(let f in l)delete l[f];l.$ref=u};if(t.cycles==="throw")for(let i of t.seen.entries()){let a=i[1];if(a.cycle)throw new Error(`Cycle detected: #/${a.cycle?.join("/")}/<root>

Set the \`cycles\` parameter to \`"ref"\` to resolve cyclical schemas with defs.`)}for(let i of t.seen.entries()){let a=i[1];if(e===i[0]){s(i);continue}if(t.external){let c=t.external.registry.get(i[0])?.id;if(e!==i[0]&&c){s(i);continue}}if(t.metadataRegistry.get(i[0])?.id){s(i);continue}if(a.cycle){s(i);continue}a.count>1&&t.reused==="ref"&&s(i)}t.external&&(t.sharedDefsExtractedFor=t.external)}function Df(t){let e=t.anyOf;if(!Array.isArray(e)||e.length===0||t.type!==void 0)return;let r=[];for(let o of e){if(!o||typeof o!="object")return;Df(o);let n=Object.keys(o);if(n.length!==1||n[0]!=="type")return;let s=o.type;for(let i of Array.isArray(s)?s:[s]){if(typeof i!="string")return;r.includes(i)||r.push(i)}}delete t.anyOf,t.type=r.length===1?r[0]:r}var Bf=new Set(["type","properties","required","additionalProperties"]),Lf=["oneOf","anyOf"];function Cf(t){let e=t.additionalProperties;return e===void 0||e===!1||typeof e!="object"||e===null?null:Object.keys(e).length?e:null}function gi(t){let e=[];for(let s of t){if(typeof s!="object"||s.type!=="object")return null;for(let i in s)if(!Bf.has(i))return null;e.push(s)}let r={},o=new Set;for(let s of e){for(let i in s.properties){if(Object.prototype.hasOwnProperty.call(r,i))continue;let a=[];for(let c of e){let l=c.properties?.[i]??Cf(c);l!=null&&(a.some(f=>JSON.stringify(f)===JSON.stringify(l))||a.push(l))}let u=a.length===1?a[0]:gi(a)??{allOf:a};ve(r,i,u)}for(let i of s.required??[])o.add(i)}let n={type:"object",properties:r};if(o.size&&(n.required=[...o]),e.every(s=>s.additionalProperties===!1))n.additionalProperties=!1;else{let s=[];for(let i of e){let a=Cf(i);a&&!s.some(u=>JSON.stringify(u)===JSON.stringify(a))&&s.push(a)}s.length===1?n.additionalProperties=s[0]:s.length>1&&(n.additionalProperties={allOf:s})}return n}function fx(t){let e=t.allOf;if(!Array.isArray(e)||e.length<2)return;for(let n of Bf)if(n in t)return;let r=e.filter(n=>Lf.some(s=>Array.isArray(n[s]))),o=null;if(!r.length)o=gi(e);else{let n=r[0],s=Lf.find(u=>Array.isArray(n[u]));if(Object.keys(n).length!==1)return;let i=e.filter(u=>u!==n),a=n[s].map(u=>gi([...i,u]));if(a.some(u=>!u))return;o={[s]:a}}o&&(delete t.allOf,Nr(t,o))}function xi(t,e){let r=t.seen.get(e);if(!r)throw new Error("Unprocessed schema. This is a bug in Zod.");let o=a=>{let u=t.seen.get(a);if(u.ref===null)return;let c=u.def??u.schema,l={...c},f=u.ref;if(u.ref=null,f){o(f);let p=t.seen.get(f),m=p.schema;if(m.$ref&&(t.target==="draft-07"||t.target==="draft-04"||t.target==="openapi-3.0")?(c.allOf=c.allOf??[],c.allOf.push(m)):Nr(c,m),Nr(c,l),a._zod.parent===f)for(let h in c)h==="$ref"||h==="allOf"||h in l||delete c[h];if(m.$ref&&p.def)for(let h in c)h==="$ref"||h==="allOf"||h in p.def&&JSON.stringify(c[h])===JSON.stringify(p.def[h])&&delete c[h]}let d=a._zod.parent;if(d&&d!==f){o(d);let p=t.seen.get(d);if(p?.schema.$ref&&(c.$ref=p.schema.$ref,p.def))for(let m in c)m==="$ref"||m==="allOf"||m in p.def&&JSON.stringify(c[m])===JSON.stringify(p.def[m])&&delete c[m]}t.override({zodSchema:a,jsonSchema:c,path:u.path??[]})};if(!t.external||t.sharedEmitDoneFor!==t.external){for(let a of[...t.seen.entries()].reverse())o(a[0]);if(t.target!=="openapi-3.0")for(let a of t.seen.entries())Df(a[1].def??a[1].schema);for(let a of t.deferred)a();if(t.intersections.length){let a=new Map;for(let u of t.seen.values())for(let c of[u.schema,u.def]){let l=c?.allOf;if(!Array.isArray(l))continue;let f=a.get(l);f?f.push(c):a.set(l,[c])}for(let u of t.intersections)for(let c of a.get(u)??[])fx(c)}}let n={};if(t.target==="draft-2020-12"?n.$schema="https://json-schema.org/draft/2020-12/schema":t.target==="draft-07"?n.$schema="http://json-schema.org/draft-07/schema#":t.target==="draft-04"?n.$schema="http://json-schema.org/draft-04/schema#":t.target,t.external?.uri){let a=t.external.registry.get(e)?.id;if(!a)throw new Error("Schema is missing an `id` property");n.$id=t.external.uri(a)}Nr(n,r.defId?r.schema:r.def??r.schema);let s=t.metadataRegistry.get(e)?.id;s!==void 0&&n.id===s&&delete n.id;let i=t.external?.defs??{};if(!t.external||t.sharedEmitDoneFor!==t.external)for(let a of t.seen.entries()){let u=a[1];u.def&&u.defId&&(u.def.id===u.defId&&delete u.def.id,ve(i,u.defId,u.def))}t.external&&(t.sharedEmitDoneFor=t.external),t.external||Object.keys(i).length>0&&(t.target==="draft-2020-12"?n.$defs=i:n.definitions=i);try{let a=JSON.parse(JSON.stringify(n));return Object.defineProperty(a,"~standard",{value:{...e["~standard"],jsonSchema:{input:Lr(e,"input",t.processors),output:Lr(e,"output",t.processors)}},enumerable:!1,writable:!1}),a}catch{throw new Error("Error converting schema to JSON.")}}function me(t,e){let r=e??{seen:new Set};if(r.seen.has(t))return!1;r.seen.add(t);let o=t._zod.def;if(o.type==="transform")return!0;if(o.type==="array")return me(o.element,r);if(o.type==="set")return me(o.valueType,r);if(o.type==="lazy")return me(o.getter(),r);if(o.type==="promise"||o.type==="optional"||o.type==="nonoptional"||o.type==="nullable"||o.type==="readonly"||o.type==="default"||o.type==="prefault"||o.type==="catch")return me(o.innerType,r);if(o.type==="intersection")return me(o.left,r)||me(o.right,r);if(o.type==="record"||o.type==="map")return me(o.keyType,r)||me(o.valueType,r);if(o.type==="pipe")return t._zod.traits.has("$ZodCodec")?!0:me(o.in,r)||me(o.out,r);if(o.type==="object"){for(let n in o.shape)if(me(o.shape[n],r))return!0;return!1}if(o.type==="union"){for(let n of o.options)if(me(n,r))return!0;return!1}if(o.type==="tuple"){for(let n of o.items)if(me(n,r))return!0;return!!(o.rest&&me(o.rest,r))}return!1}var Zf=(t,e={})=>r=>{let o=_i({...r,processors:e});return V(t,o),wi(o,t),xi(o,t)},Lr=(t,e,r={})=>o=>{let{libraryOptions:n,target:s}=o??{},i=_i({...n??{},target:s,io:e,processors:r});return V(t,i),wi(i,t),xi(i,t)};var Jt=(t,e,r)=>{(t[e]===void 0||r>t[e])&&(t[e]=r)},Xt=(t,e,r)=>{(t[e]===void 0||r<t[e])&&(t[e]=r)},Uf=(t,e)=>{Jt(t,"minimum",e),Xt(t,"maximum",e)},Hf=(t,e)=>{t.multipleOf??(t.multipleOf=[]),t.multipleOf.includes(e)||t.multipleOf.push(e)},Kf=(t,e)=>{t.patterns??(t.patterns=new Set),t.patterns.add(e)},Gf=(t,e)=>{t.mime=t.mime?t.mime.filter(r=>e.includes(r)):[...e]},Vf=(t,e)=>{t.format=e,e.includes("int")&&(t.isInt=!0)},qf=(t,e)=>Jt(t,"minimum",e.minimum),jf=(t,e)=>Xt(t,"maximum",e.maximum),Ff=t=>(e,r)=>{Vf(e,r.format);let[o,n]=t[r.format];Jt(e,"minimum",o),Xt(e,"maximum",n)},dx={greater_than:(t,e)=>Jt(t,e.inclusive?"minimum":"exclusiveMinimum",e.value),less_than:(t,e)=>Xt(t,e.inclusive?"maximum":"exclusiveMaximum",e.value),multiple_of:(t,e)=>Hf(t,e.value),number_format:Ff(Er),bigint_format:Ff(Oo),min_length:qf,max_length:jf,length_equals:(t,e)=>Uf(t,e.length),min_size:qf,max_size:jf,size_equals:(t,e)=>Uf(t,e.size),string_format:(t,e)=>{Vf(t,e.format),e.pattern&&Kf(t,e.pattern),(e.format==="base64"||e.format==="base64url")&&(t.contentEncoding=e.format),(e.local||e.precision===-1)&&(t.laxFormat=!0)},mime_type:(t,e)=>Gf(t,e.mime)};function re(t){let e={},r=t._zod.def,o=t._zod.traits.has("$ZodCheck")?[t,...r.checks??[]]:r.checks??[];for(let s of o)dx[s._zod.def.check]?.(e,s._zod.def);let n=t._zod.bag;n.minimum!==void 0&&Jt(e,"minimum",n.minimum),n.exclusiveMinimum!==void 0&&Jt(e,"exclusiveMinimum",n.exclusiveMinimum),n.maximum!==void 0&&Xt(e,"maximum",n.maximum),n.exclusiveMaximum!==void 0&&Xt(e,"exclusiveMaximum",n.exclusiveMaximum),n.multipleOf!==void 0&&Hf(e,n.multipleOf),n.format!==void 0&&(e.format??(e.format=n.format),n.format.includes("int")&&(e.isInt=!0)),n.mime&&Gf(e,n.mime);for(let s of n.patterns??[])Kf(e,s);return e}var px={guid:"uuid",url:"uri",datetime:"date-time",json_string:"json-string",regex:""},mx=new Map([[Xs,rc],[Ho,oc]]),Wf=t=>mx.get(t)??t,Yf=(t,e,r,o)=>{let n=r;n.type="string";let{minimum:s,maximum:i,format:a,patterns:u,contentEncoding:c,laxFormat:l}=re(t);if(typeof s=="number"&&(n.minLength=s),typeof i=="number"&&(n.maxLength=i),a&&(n.format=px[a]??a,n.format===""&&delete n.format,(a==="time"||l)&&delete n.format),c&&(n.contentEncoding=c),u&&u.size>0){let f=[...u].map(Wf);f.length===1?n.pattern=f[0].source:f.length>1&&(n.allOf=[...f.map(d=>({...e.target==="draft-07"||e.target==="draft-04"||e.target==="openapi-3.0"?{type:"string"}:{},pattern:d.source}))])}},Jf=(t,e,r,o)=>{let n=r,{minimum:s,maximum:i,multipleOf:a,exclusiveMaximum:u,exclusiveMinimum:c,isInt:l}=re(t);n.type=l?"integer":"number";let f=typeof c=="number"&&c>=(s??Number.NEGATIVE_INFINITY),d=typeof u=="number"&&u<=(i??Number.POSITIVE_INFINITY),p=e.target==="draft-04"||e.target==="openapi-3.0";if(f?p?(n.minimum=c,n.exclusiveMinimum=!0):n.exclusiveMinimum=c:typeof s=="number"&&(n.minimum=s),d?p?(n.maximum=u,n.exclusiveMaximum=!0):n.exclusiveMaximum=u:typeof i=="number"&&(n.maximum=i),a){let m=new Set;for(let _ of a)Number.isFinite(_)&&_!==0?m.add(Math.abs(_)):Re(t,e,n,o,`A multipleOf divisor of ${_} cannot be represented in JSON Schema`);let[g,...h]=m;g!==void 0&&(n.multipleOf=g),h.length&&(n.allOf=[...n.allOf??[],...h.map(_=>({multipleOf:_}))])}},Xf=(t,e,r,o)=>{r.type="boolean"},Qf=(t,e,r,o)=>{Re(t,e,r,o,"BigInt cannot be represented in JSON Schema")};var ed=(t,e,r,o)=>{r.not={}};var td=(t,e,r,o)=>{},rd=(t,e,r,o)=>{Re(t,e,r,o,"Date cannot be represented in JSON Schema")},od=(t,e,r,o)=>{let n=t._zod.def,s=Ft(n.entries);if(s.length===0){r.not={};return}s.every(i=>typeof i=="number")&&(r.type="number"),s.every(i=>typeof i=="string")&&(r.type="string"),r.enum=s},nd=(t,e,r,o)=>{let n=t._zod.def;if(n.values.length===0){r.not={};return}let s=[];for(let i of n.values)if(i===void 0){if(Re(t,e,r,o,"Literal `undefined` cannot be represented in JSON Schema"))return}else if(typeof i=="bigint"){if(Re(t,e,r,o,"BigInt literals cannot be represented in JSON Schema"))return;s.push(Number(i))}else s.push(i);if(s.length!==0)if(s.length===1){let i=s[0];r.type=i===null?"null":typeof i,e.target==="draft-04"||e.target==="openapi-3.0"?r.enum=[i]:r.const=i}else s.every(i=>typeof i=="number")&&(r.type="number"),s.every(i=>typeof i=="string")&&(r.type="string"),s.every(i=>typeof i=="boolean")&&(r.type="boolean"),s.every(i=>i===null)&&(r.type="null"),r.enum=s};var sd=(t,e,r,o)=>{Re(t,e,r,o,"Custom types cannot be represented in JSON Schema")};var id=(t,e,r,o)=>{Re(t,e,r,o,"Transforms cannot be represented in JSON Schema")};var ad=(t,e,r,o)=>{let n=r,s=t._zod.def,{minimum:i,maximum:a}=re(t);typeof i=="number"&&(n.minItems=i),typeof a=="number"&&(n.maxItems=a),n.type="array",n.items=V(s.element,e,{...o,path:[...o.path,"items"]})};function Cr(t){let e=t._zod.def;return e.type==="pipe"&&e.in._zod.traits.has("$ZodTransform")?Cr(e.out):e.type==="catch"?Cr(e.innerType):t._zod.optin}var ud=(t,e,r,o)=>{let n=r,s=t._zod.def,i=s.shape;if(Object.getOwnPropertySymbols(i).length&&Re(t,e,n,o,"Symbol keys cannot be represented in JSON Schema"))return;n.type="object",n.properties={};for(let c in i)ve(n.properties,c,V(i[c],e,{...o,path:[...o.path,"properties",c]}));let u=[];for(let c of Object.keys(i)){let l=s.shape[c];(e.io==="input"?Cr(l)===void 0:l._zod.optout===void 0)&&u.push(c)}u.length>0&&(n.required=u),s.catchall?._zod.def.type==="never"?n.additionalProperties=!1:s.catchall?s.catchall&&(n.additionalProperties=V(s.catchall,e,{...o,path:[...o.path,"additionalProperties"]})):e.io==="output"&&(n.additionalProperties=!1)},cd=(t,e,r,o)=>{let n=t._zod.def,s=n.inclusive===!1,i=n.options.map((a,u)=>V(a,e,{...o,path:[...o.path,s?"oneOf":"anyOf",u]}));s?r.oneOf=i:r.anyOf=i},ld=(t,e,r,o)=>{let n=t._zod.def,s=V(n.left,e,{...o,path:[...o.path,"allOf",0]}),i=V(n.right,e,{...o,path:[...o.path,"allOf",1]}),a=c=>"allOf"in c&&Object.keys(c).length===1,u=[...a(s)?s.allOf:[s],...a(i)?i.allOf:[i]];r.allOf=u,e.intersections.push(u)},fd=(t,e,r,o)=>{let n=r,s=t._zod.def;n.type="array";let i=e.target==="draft-2020-12"?"prefixItems":"items",a=e.target==="draft-2020-12"||e.target==="openapi-3.0"?"items":"additionalItems",u=s.items.map((g,h)=>V(g,e,{...o,path:[...o.path,i,h]})),c=s.rest?V(s.rest,e,{...o,path:[...o.path,a,...e.target==="openapi-3.0"?[s.items.length]:[]]}):null,l=s.items.length;for(;l>0;){let g=s.items[l-1];if(!(e.io==="input"?Cr(g)!==void 0:g._zod.optout==="optional"))break;l--}let f=s.items.length,d=!s.rest;e.target==="draft-2020-12"?(n.prefixItems=u,d?n.items=!1:c&&(n.items=c),l>0&&(n.minItems=l),d&&(n.maxItems=f)):e.target==="openapi-3.0"?(n.items={anyOf:u},c&&n.items.anyOf.push(c),l>0&&(n.minItems=l),d&&(n.maxItems=f)):(n.items=u,d?n.additionalItems=!1:c&&(n.additionalItems=c),l>0&&(n.minItems=l),d&&(n.maxItems=f));let{minimum:p,maximum:m}=re(t);typeof p=="number"&&(n.minItems=p),typeof m=="number"&&(n.maxItems=m)};function yi(t,e,r){if(e.$ref){if(r.has(e))return e;r.add(e);let m=t.get(e)?.def;if(!m)return e;let g=yi(t,m,r);return g===m?e:g}for(let m of["anyOf","oneOf"]){let g=e[m];if(!Array.isArray(g))continue;let h=g.map(_=>yi(t,_,r));h.some((_,x)=>_!==g[x])&&(e={...e,[m]:h})}let o=Array.isArray(e.type)?e.type:[e.type],n=!o.includes("string")&&o.some(m=>m==="number"||m==="integer"),s=e.enum??(e.const!==void 0?[e.const]:void 0);if(!n&&!s?.some(m=>typeof m=="number"))return e;let{minimum:i,maximum:a,exclusiveMinimum:u,exclusiveMaximum:c,multipleOf:l,format:f,id:d,...p}=e;return p.enum?p.enum=p.enum.map(m=>typeof m=="number"?String(m):m):typeof p.const=="number"&&(p.const=String(p.const)),n&&(p.type="string",s||(p.pattern=(o.includes("number")?$r:Ks).source)),p}var bi=new WeakMap;function hx(t){let e=new Map;for(let o of t.seen.values())o.def&&!e.has(o.schema)&&e.set(o.schema,o);let r=new Map;for(let o of bi.get(t)??[]){let n=t.seen.get(o),s=(n?.def??n?.schema)?.propertyNames;if(!s||s===!0||r.has(s))continue;let i=yi(e,s,new Set);i!==s&&r.set(s,i)}if(r.size)for(let o of t.seen.values())for(let n of[o.schema,o.def]){let s=n&&r.get(n.propertyNames);s&&(n.propertyNames=s)}}var dd=(t,e,r,o)=>{let n=r,s=t._zod.def;n.type="object";let i=s.keyType,a=re(i).patterns;if(s.mode==="loose"&&a&&a.size>0){let l=V(s.valueType,e,{...o,path:[...o.path,"patternProperties","*"]});n.patternProperties={};for(let f of a)ve(n.patternProperties,Wf(f).source,l)}else{if(e.target==="draft-07"||e.target==="draft-2020-12"){n.propertyNames=V(s.keyType,e,{...o,path:[...o.path,"propertyNames"]});let l=bi.get(e);l||(l=[],bi.set(e,l),e.deferred.push(()=>hx(e))),l.push(t)}n.additionalProperties=V(s.valueType,e,{...o,path:[...o.path,"additionalProperties"]})}let u=i._zod.values,c=e.io==="input"&&Cr(s.valueType)!==void 0;if(u&&!s.partial&&!c){let l=[...u].filter(f=>typeof f=="string"||typeof f=="number");l.length>0&&(n.required=l.map(String))}},pd=(t,e,r,o)=>{let n=t._zod.def,s=V(n.innerType,e,o),i=e.seen.get(t);e.target==="openapi-3.0"?(i.ref=n.innerType,r.nullable=!0):r.anyOf=[s,{type:"null"}]},md=(t,e,r,o)=>{let n=t._zod.def;V(n.innerType,e,o);let s=e.seen.get(t);s.ref=n.innerType},vi=Symbol();function hd(t,e,r,o,n){let s=!1,i=JSON.stringify(t,(a,u)=>typeof u!="bigint"?u:(s=!0,null));return s?(Re(e,r,o,n,"BigInt defaults cannot be represented in JSON Schema"),vi):JSON.parse(i)}var gd=(t,e,r,o)=>{let n=t._zod.def;V(n.innerType,e,o);let s=e.seen.get(t);s.ref=n.innerType;let i=hd(n.defaultValue,t,e,r,o);i!==vi&&(r.default=i)},_d=(t,e,r,o)=>{let n=t._zod.def;V(n.innerType,e,o);let s=e.seen.get(t);if(s.ref=n.innerType,e.io!=="input")return;let i=hd(n.defaultValue,t,e,r,o);i!==vi&&(r._prefault=i)},wd=(t,e,r,o)=>{let n=t._zod.def;V(n.innerType,e,o);let s=e.seen.get(t);s.ref=n.innerType;let i;try{i=n.catchValue(void 0)}catch{Re(t,e,r,o,"Dynamic catch values are not supported in JSON Schema");return}r.default=i},xd=(t,e,r,o)=>{let n=t._zod.def,s=n.in._zod.traits.has("$ZodTransform"),i=e.io==="input"?s?n.out:n.in:n.out;V(i,e,o);let a=e.seen.get(t);a.ref=i},yd=(t,e,r,o)=>{let n=t._zod.def;V(n.innerType,e,o);let s=e.seen.get(t);s.ref=n.innerType,r.readOnly=!0};var Si=(t,e,r,o)=>{let n=t._zod.def;V(n.innerType,e,o);let s=e.seen.get(t);s.ref=n.innerType};var bd=new WeakSet([Object.prototype,Error.prototype]);function Qo(t,e,r){Object.defineProperty(t,e,{configurable:!0,enumerable:!1,get(){let o=r(this);return Object.defineProperty(this,e,{value:o,configurable:!0,writable:!0}),o},set(o){Object.defineProperty(this,e,{value:o,configurable:!0,writable:!0})}})}var vd=(t,e)=>{$u.init(t,e),t.name="ZodError";let r=Object.getPrototypeOf(t);bd.has(r)||(bd.add(r),Qo(r,"format",o=>n=>Pu(o,n)),Qo(r,"flatten",o=>n=>Ou(o,n)),Qo(r,"addIssue",o=>n=>{o.issues.push(n),o.message=JSON.stringify(o.issues,Ht,2)}),Qo(r,"addIssues",o=>n=>{o.issues.push(...n),o.message=JSON.stringify(o.issues,Ht,2)}),Object.defineProperty(r,"isEmpty",{configurable:!0,enumerable:!1,get(){return this.issues.length===0}}))},en=w("ZodError",vd),xe=w("ZodError",vd,void 0,{Parent:Error});var Sd=No(xe),kd=Lo(xe),Ed=Co(xe),Ad=Do(xe),Td=Iu(xe),zd=Ru(xe),$d=Nu(xe),Od=Lu(xe),Pd=Cu(xe),Md=Du(xe),Id=Bu(xe),Rd=Zu(xe);function Ex(){pe.localeError||we(Kl())}function Zr(){pe.memoizer||we({memoizer:Hl()})}var j=w("ZodType",(t,e)=>(Ex(),U.init(t,e),t.def=e,t.type=e.type,t),{check(...t){let e=this.def;return this.clone(T.mergeDefs(e,{checks:[...e.checks??[],...t.map(r=>typeof r=="function"?{_zod:{check:r,def:{check:"custom"},onattach:[]}}:r)]}),{parent:!0})},with(...t){return this.check(...t)},clone(t,e){return Oe(this,t,e)},brand(){return this},register(t,e){return t.add(this,e),this},refine(t,e){return this.check(py(t,e))},superRefine(t,e){return this.check(my(t,e))},overwrite(t){return this.check(dt(t))},optional(){return Ld(this)},exactOptional(){return oy(this)},nullable(){return Cd(this)},nullish(){return Ld(Cd(this))},nonoptional(t){return iy(this,t)},array(){return Y(this)},or(t){return zi([this,t])},and(t){return Qx(this,t)},transform(t){return Dd(this,ry(t))},default(t){return ny(this,t)},prefault(t){return sy(this,t)},catch(t){return uy(this,t)},pipe(t){return Dd(this,t)},readonly(){return fy(this)},describe(t){let e=this.clone();return yt.add(e,{description:t}),e},meta(...t){if(t.length===0)return yt.get(this);let e=this.clone();return yt.add(e,t[0]),e},isOptional(){return this.safeParse(void 0).success},isNullable(){return this.safeParse(null).success},apply(t,...e){return e.length===0?t(this):t(this,...e)},get"~standard"(){return T.hide(this,"~standard",{...Js(this),jsonSchema:{input:Lr(this,"input"),output:Lr(this,"output")}})},set"~standard"(t){T.own(this,"~standard",t)},parse:function t(e,r){return Sd(this,e,r,{callee:t})},parseAsync:async function t(e,r){return await kd(this,e,r,{callee:t})},safeParse(t,e){return Ed(this,t,e)},async safeParseAsync(t,e){return Ad(this,t,e)},get spa(){return this?.safeParseAsync},set spa(t){T.own(this,"spa",t)},validate(t,e){return qs(this,t,e)},validateAsync(t,e){return js(this,t,e)},encode:function t(e,r){return Td(this,e,r,{callee:t})},decode:function t(e,r){return zd(this,e,r,{callee:t})},encodeAsync:async function t(e,r){return await $d(this,e,r,{callee:t})},decodeAsync:async function t(e,r){return await Od(this,e,r,{callee:t})},safeEncode(t,e){return Pd(this,t,e)},safeDecode(t,e){return Md(this,t,e)},async safeEncodeAsync(t,e){return Id(this,t,e)},async safeDecodeAsync(t,e){return Rd(this,t,e)},toJSONSchema(t){return Zf(this,{})(t)},get description(){return yt.get(this)?.description},get _def(){return this._zod.def}}),Bd=w("_ZodString",(t,e)=>{Fo.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Yf(t,r,o,n)},T.derived({format:t=>re(t).format??null,minLength:t=>re(t).minimum??null,maxLength:t=>re(t).maximum??null},{regex(...t){return this.check(si(...t))},includes(...t){return this.check(ui(...t))},startsWith(...t){return this.check(ci(...t))},endsWith(...t){return this.check(li(...t))},min(...t){return this.check(Yt(...t))},max(...t){return this.check(Jo(...t))},length(...t){return this.check(Xo(...t))},nonempty(...t){return this.check(Yt(1,...t))},lowercase(t){return this.check(ii(t))},uppercase(t){return this.check(ai(t))},trim(){return this.check(di())},normalize(...t){return this.check(fi(...t))},toLowerCase(){return this.check(pi())},toUpperCase(){return this.check(mi())},slugify(){return this.check(hi())}})),Ei=w("ZodString",(t,e)=>{Fo.init(t,e),Bd.init(t,e)},{email(t){return this.check(Yl(Ox,t))},url(t){return this.check(rf(Mx,t))},jwt(t){return this.check(wf(Gx,t))},emoji(t){return this.check(of(Ix,t))},guid(t){return this.check(Jl(Px,t))},uuid(t){return this.check(Xl(tn,t))},uuidv4(t){return this.check(Ql(tn,t))},uuidv6(t){return this.check(ef(tn,t))},uuidv7(t){return this.check(tf(tn,t))},nanoid(t){return this.check(nf(Rx,t))},cuid(t){return this.check(sf(Nx,t))},cuid2(t){return this.check(af(Lx,t))},ulid(t){return this.check(uf(Cx,t))},base64(t){return this.check(hf(Fx,t))},base64url(t){return this.check(gf(Hx,t))},xid(t){return this.check(cf(Dx,t))},ksuid(t){return this.check(lf(Bx,t))},ipv4(t){return this.check(ff(Zx,t))},ipv6(t){return this.check(df(Ux,t))},cidrv4(t){return this.check(pf(qx,t))},cidrv6(t){return this.check(mf(jx,t))},e164(t){return this.check(_f(Kx,t))},datetime(t){return this.check(xf(Ax,t))},date(t){return this.check(yf(Tx,t))},time(t){return this.check(bf(zx,t))},duration(t){return this.check(vf($x,t))}});function z(t){return Vl(Ei,t)}var W=w("ZodStringFormat",(t,e)=>{F.init(t,e),Bd.init(t,e)}),Ax=w("ZodISODateTime",(t,e)=>{rl.init(t,e),W.init(t,e)}),Tx=w("ZodISODate",(t,e)=>{ol.init(t,e),W.init(t,e)}),zx=w("ZodISOTime",(t,e)=>{nl.init(t,e),W.init(t,e)}),$x=w("ZodISODuration",(t,e)=>{sl.init(t,e),W.init(t,e)}),Ox=w("ZodEmail",(t,e)=>{Hc.init(t,e),W.init(t,e)});var Px=w("ZodGUID",(t,e)=>{jc.init(t,e),W.init(t,e)});var tn=w("ZodUUID",(t,e)=>{Fc.init(t,e),W.init(t,e)});var Mx=w("ZodURL",(t,e)=>{Vc.init(t,e),W.init(t,e)});var Ix=w("ZodEmoji",(t,e)=>{Wc.init(t,e),W.init(t,e)});var Rx=w("ZodNanoID",(t,e)=>{Yc.init(t,e),W.init(t,e)});var Nx=w("ZodCUID",(t,e)=>{Jc.init(t,e),W.init(t,e)});var Lx=w("ZodCUID2",(t,e)=>{Xc.init(t,e),W.init(t,e)});var Cx=w("ZodULID",(t,e)=>{Qc.init(t,e),W.init(t,e)});var Dx=w("ZodXID",(t,e)=>{el.init(t,e),W.init(t,e)});var Bx=w("ZodKSUID",(t,e)=>{tl.init(t,e),W.init(t,e)});var Zx=w("ZodIPv4",(t,e)=>{il.init(t,e),W.init(t,e)});var Ux=w("ZodIPv6",(t,e)=>{ul.init(t,e),W.init(t,e)});var qx=w("ZodCIDRv4",(t,e)=>{cl.init(t,e),W.init(t,e)});var jx=w("ZodCIDRv6",(t,e)=>{ll.init(t,e),W.init(t,e)});var Fx=w("ZodBase64",(t,e)=>{dl.init(t,e),W.init(t,e)});var Hx=w("ZodBase64URL",(t,e)=>{pl.init(t,e),W.init(t,e)});var Kx=w("ZodE164",(t,e)=>{ml.init(t,e),W.init(t,e)});var Gx=w("ZodJWT",(t,e)=>{hl.init(t,e),W.init(t,e)});var rn=w("ZodNumber",(t,e)=>{Qs.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Jf(t,r,o,n),t.isFinite=!0},T.derived({minValue:t=>{let{minimum:e,exclusiveMinimum:r}=re(t);return Math.max(e??Number.NEGATIVE_INFINITY,r??Number.NEGATIVE_INFINITY)},maxValue:t=>{let{maximum:e,exclusiveMaximum:r}=re(t);return Math.min(e??Number.POSITIVE_INFINITY,r??Number.POSITIVE_INFINITY)},isInt:t=>{let{isInt:e,multipleOf:r}=re(t);return!!e||!!r?.some(Number.isSafeInteger)},format:t=>re(t).format??null},{gt(t,e){return this.check(Wt(t,e))},gte(t,e){return this.check(ot(t,e))},min(t,e){return this.check(ot(t,e))},lt(t,e){return this.check(Vt(t,e))},lte(t,e){return this.check(rt(t,e))},max(t,e){return this.check(rt(t,e))},int(t){return this.check(P(t))},safe(t){return this.check(P(t))},positive(t){return this.check(Wt(0,t))},nonnegative(t){return this.check(ot(0,t))},negative(t){return this.check(Vt(0,t))},nonpositive(t){return this.check(rt(0,t))},multipleOf(t,e){return this.check(Rr(t,e))},step(t,e){return this.check(Rr(t,e))},finite(){return this}}));function v(t){return Sf(rn,t)}var Vx=w("ZodNumberFormat",(t,e)=>{gl.init(t,e),rn.init(t,e)});function P(t){return Ef(Vx,t)}var Ai=w("ZodBoolean",(t,e)=>{_l.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Xf(t,r,o,n)});function bt(t){return Af(Ai,t)}var Zd=w("ZodBigInt",(t,e)=>{wl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Qf(t,r,o,n)},T.derived({minValue:t=>re(t).minimum??null,maxValue:t=>re(t).maximum??null,format:t=>re(t).format??null},{gte(t,e){return this.check(ot(t,e))},min(t,e){return this.check(ot(t,e))},gt(t,e){return this.check(Wt(t,e))},lt(t,e){return this.check(Vt(t,e))},lte(t,e){return this.check(rt(t,e))},max(t,e){return this.check(rt(t,e))},positive(t){return this.check(Wt(BigInt(0),t))},negative(t){return this.check(Vt(BigInt(0),t))},nonpositive(t){return this.check(rt(BigInt(0),t))},nonnegative(t){return this.check(ot(BigInt(0),t))},multipleOf(t,e){return this.check(Rr(t,e))}}));var Wx=w("ZodUnknown",(t,e)=>{xl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>td(t,r,o,n)});function Br(){return $f(Wx)}var Yx=w("ZodNever",(t,e)=>{yl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>ed(t,r,o,n)});function Ud(t){return Of(Yx,t)}var qd=w("ZodDate",(t,e)=>{bl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>rd(t,r,o,n),t.min=(r,o)=>t.check(ot(r,o)),t.max=(r,o)=>t.check(rt(r,o))},T.derived({minDate:t=>{let{minimum:e}=re(t);return e?new Date(e):null},maxDate:t=>{let{maximum:e}=re(t);return e?new Date(e):null}},{}));var Jx=w("ZodArray",(t,e)=>{Zr(),vl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>ad(t,r,o,n),t.element=e.element},{min(t,e){return this.check(Yt(t,e))},nonempty(t){return this.check(Yt(1,t))},max(t,e){return this.check(Jo(t,e))},length(t,e){return this.check(Xo(t,e))},unwrap(){return this.element}});function Y(t,e){return Mf(Jx,t,e)}var Qt=w("ZodObject",(t,e)=>{Zr(),El.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>ud(t,r,o,n),T.installLazyProp(t,"shape",r=>r._zod.def.shape,!1)},{keyof(){return Ue(Object.keys(this._zod.def.shape))},catchall(t){return this.clone(T.mergeDefs(this._zod.def,{catchall:t}))},passthrough(){return this.clone(T.mergeDefs(this._zod.def,{catchall:Br()}))},loose(){return this.clone(T.mergeDefs(this._zod.def,{catchall:Br()}))},strict(){return this.clone(T.mergeDefs(this._zod.def,{catchall:Ud()}))},strip(){return this.clone(T.mergeDefs(this._zod.def,{catchall:void 0}))},extend(t){return T.extend(this,t)},safeExtend(t){return T.safeExtend(this,t)},merge(t){return T.merge(this,t)},pick(t){return T.pick(this,t)},omit(t){return T.omit(this,t)},partial(...t){return T.partial(qr,this,t[0])},exactPartial(...t){return T.partial(Hd,this,t[0],"exactPartial")},required(...t){return T.required(Kd,this,t[0])}});function R(t,e){let r={type:"object",shape:t??{},...T.normalizeParams(e)};return new Qt(r)}function vt(t,e){return new Qt({type:"object",shape:t,catchall:Ud(),...T.normalizeParams(e)})}function jd(t,e){return new Qt({type:"object",shape:t,catchall:Br(),...T.normalizeParams(e)})}var Ti=w("ZodUnion",(t,e)=>{Al.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>cd(t,r,o,n),t.options=e.options});function zi(t,e){return new Ti({type:"union",options:t,...T.normalizeParams(e)})}var Xx=w("ZodIntersection",(t,e)=>{Tl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>ld(t,r,o,n)});function Qx(t,e){return new Xx({type:"intersection",left:t,right:e})}var ey=w("ZodTuple",(t,e)=>{Zr(),zl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>fd(t,r,o,n)},{rest(t){return this.clone({...this._zod.def,rest:t})},partial(){let t=this._zod.def;if(t.checks?.length)throw new Error(".partial() cannot be used on tuple schemas containing refinements");return this.clone({...t,items:t.items.map(e=>new qr({type:"optional",innerType:e}))})}});function Ur(t,e,r){let o=e instanceof U,n=o?r:e,s=o?e:null;return new ey({type:"tuple",items:t,rest:s,...T.normalizeParams(n)})}var Nd=w("ZodRecord",(t,e)=>{Zr(),$l.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>dd(t,r,o,n),t.keyType=e.keyType,t.valueType=e.valueType});function St(t,e,r){return!e||!e._zod?new Nd({type:"record",keyType:z(),valueType:t,...T.normalizeParams(e)}):new Nd({type:"record",keyType:t,valueType:e,...T.normalizeParams(r)})}var ki=w("ZodEnum",(t,e)=>{Ol.init(t,e),j.init(t,e),t._zod.processJSONSchema=(o,n,s)=>od(t,o,n,s),t.enum=e.entries,t.options=[...t._zod.values];let r=new Set(Object.keys(e.entries));t.extract=(o,n)=>{let s={};for(let i of o)if(r.has(i))s[i]=e.entries[i];else throw new Error(`Key ${i} not found in enum`);return new ki({...e,checks:[],...T.normalizeParams(n),entries:s})},t.exclude=(o,n)=>{let s={...e.entries};for(let i of o)if(r.has(i))delete s[i];else throw new Error(`Key ${i} not found in enum`);return new ki({...e,checks:[],...T.normalizeParams(n),entries:s})}});function Ue(t,e){let r=Array.isArray(t)?Object.fromEntries(t.map(o=>[o,o])):t;return new ki({type:"enum",entries:r,...T.normalizeParams(e)})}var $i=w("ZodLiteral",(t,e)=>{Pl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>nd(t,r,o,n),t.values=new Set(e.values),Object.defineProperty(t,"value",{get(){if(e.values.length>1)throw new Error("This schema contains multiple valid literal values. Use `.values` instead.");return e.values[0]}})});function Fd(t,e){return new $i({type:"literal",values:Array.isArray(t)?t:[t],...T.normalizeParams(e)})}var ty=w("ZodTransform",(t,e)=>{Zr(),Ml.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>id(t,r,o,n),t._zod.parse=(r,o)=>{if(o.direction==="backward")throw new Gt(t.constructor.name);r.addIssue=s=>{if(typeof s=="string")r.issues.push(T.issue(s,r.value,e));else{let i=s;i.fatal&&(i.continue=!1),i.code??(i.code="custom"),"input"in i||(i.input=r.value),i.inst??(i.inst=t),r.issues.push(T.issue(i))}};let n=e.transform(r.value,r);return n instanceof Promise?n.then(s=>(r.value=s,r)):(r.value=n,r)}});function ry(t){return new ty({type:"transform",transform:t})}var qr=w("ZodOptional",(t,e)=>{ei.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Si(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function Ld(t){return new qr({type:"optional",innerType:t})}var Hd=w("ZodExactOptional",(t,e)=>{Il.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Si(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function oy(t){return new Hd({type:"optional",innerType:t})}var Oi=w("ZodNullable",(t,e)=>{Rl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>pd(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function Cd(t){return new Oi({type:"nullable",innerType:t})}var Pi=w("ZodDefault",(t,e)=>{Nl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>gd(t,r,o,n),t.unwrap=()=>t._zod.def.innerType,t.removeDefault=t.unwrap});function ny(t,e){return new Pi({type:"default",innerType:t,get defaultValue(){return typeof e=="function"?e():T.shallowClone(e)}})}var Mi=w("ZodPrefault",(t,e)=>{Ll.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>_d(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function sy(t,e){return new Mi({type:"prefault",innerType:t,get defaultValue(){return typeof e=="function"?e():T.shallowClone(e)}})}var Kd=w("ZodNonOptional",(t,e)=>{Cl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>md(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function iy(t,e){return new Kd({type:"nonoptional",innerType:t,...T.normalizeParams(e)})}var ay=w("ZodCatch",(t,e)=>{Dl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>wd(t,r,o,n),t.unwrap=()=>t._zod.def.innerType,t.removeCatch=t.unwrap});function uy(t,e){return new ay({type:"catch",innerType:t,catchValue:typeof e=="function"?e:T.constantCatch(e)})}var cy=w("ZodPipe",(t,e)=>{Bl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>xd(t,r,o,n),t.in=e.in,t.out=e.out});function Dd(t,e){return new cy({type:"pipe",in:t,out:e})}var ly=w("ZodReadonly",(t,e)=>{Zl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>yd(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function fy(t){return new ly({type:"readonly",innerType:t})}var dy=w("ZodCustom",(t,e)=>{Ul.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>sd(t,r,o,n)});function py(t,e={}){return If(dy,t,e)}function my(t,e){return Rf(t,e)}var jr={};vs(jr,{bigint:()=>xy,boolean:()=>wy,date:()=>yy,number:()=>_y,string:()=>gy});function gy(t){return Wl(Ei,t)}function _y(t){return kf(rn,t)}function wy(t){return Tf(Ai,t)}function xy(t){return zf(Zd,t)}function yy(t){return Pf(qd,t)}function by(t,e){let r=[],o=Array.from({length:e.length+1},(n,s)=>s);for(let n=1;n<=t.length;n++){let s=[n];for(let i=1;i<=e.length;i++){let a=o[i-1]+(t[n-1]===e[i-1]?0:1);s[i]=Math.min(o[i]+1,s[i-1]+1,a),n>1&&i>1&&t[n-1]===e[i-2]&&t[n-2]===e[i-1]&&(s[i]=Math.min(s[i],r[i-2]+1))}[r,o]=[o,s]}return o[e.length]}function Gd(t,e){let o=e.map(n=>({name:n,distance:by(t,n)})).sort((n,s)=>n.distance-s.distance)[0];return o&&o.distance<=Math.max(2,Math.floor(t.length/3))?`; did you mean ${o.name}?`:`; known are ${e.join(", ")}`}function Yd(t,e,r=""){let o=t.safeParse(e);if(o.success)return o.data;let n=o.error.issues[0],s=n.path.map(String);if(n.code==="unrecognized_keys"){let u=n.keys[0],c=Gd(u,Ii(t,s,e));throw new Ze(Vd(r,[...s,u]),`the key is unknown${c}`)}let i=Ri(e,n.path),a=i===void 0?"nothing":JSON.stringify(i);throw new Ze(Vd(r,s),`found ${a}, ${vy(n)}`)}function vy(t){switch(t.code){case"custom":return t.message;case"invalid_type":return`expected ${Sy(t.expected==="int"?"integer":t.expected)}`;case"too_small":return`expected ${t.inclusive?"at least":"more than"} ${t.minimum}`;case"too_big":return`expected ${t.inclusive?"at most":"less than"} ${t.maximum}`;case"invalid_value":return`expected ${t.values.map(String).join(" or ")}`;default:return t.message}}function Sy(t){return`${/^[aeiou]/.test(t)?"an":"a"} ${t}`}function Vd(t,e){return[...t?[t]:[],...e].join(".")||"(all)"}function Ri(t,e){let r=t;for(let o of e){if(typeof r!="object"||r===null)return;r=r[o]}return r}function Ii(t,e,r){let o=Wd(t);if(o instanceof Ti){let a=o.options.map(c=>Wd(c)),u=a.filter(c=>ky(c,r));return(u.length>0?u:a).flatMap(c=>Ii(c,e,r))}if(!(o instanceof Qt))return[];let n=o.shape;if(e.length===0)return Object.keys(n);let[s,...i]=e;return n[s]?Ii(n[s],i,Ri(r,[s])):[]}function ky(t,e){return t instanceof Qt?Object.entries(t.shape).every(([r,o])=>!(o instanceof $i)||o.safeParse(Ri(e,[r])).success):!1}function Wd(t){let e=t;for(;e instanceof Pi||e instanceof Mi||e instanceof qr||e instanceof Oi;)e=e.unwrap();return e}var Jd=["MeasurementStart","SrcIpStart","DestIpStart","Ipv4Start","Ipv6Start","RttStart","SizeStart","ErrorCountStart","TimestampStart","MsmIdStart"];var Ey=37;function Xd(t){return Ey+t.source.length+t.destination.length}function tr({source:t,destination:e,timeS:r}){return 14+(r===null?0:9)+t.length+e.length}var Ne=class extends y{position;name;constructor(e,r){super(`Cannot decode tokens at position ${e}: ${r}`),this.position=e,this.name="TokenError"}},Fr=class{tokens;grammar;at;constructor(e,r){this.tokens=e,this.grammar=r,this.at=0}readStart(){let{MEASUREMENT_START:e,tokenName:r}=this.grammar;if(this.tokens[this.at]!==e)throw this.unexpected(r(e));this.at++}readByte(){let e=this.tokens[this.at],{BYTE_BASE:r,VOCAB_SIZE:o}=this.grammar;if(!(e>=r&&e<o))throw this.unexpected("a byte");return this.at++,e-r}readBytes(e){let r=new Uint8Array(e);for(let o=0;o<e;o++)r[o]=this.readByte();return r}unexpected(e){let o=this.at>=this.tokens.length?"the end of the tokens":this.grammar.tokenName(this.tokens[this.at]);return new Ne(this.at,`found ${o}, expected ${e}`)}};var ep=3528531795,tp=3449720151,Ay=2654435769,Ty=3144134277,zy=10,on=2**32;var Le=class{#e;#t;#r;#o;#n;#s=new Uint32Array(4);#i=0;#a=4;constructor(e,r,...o){if(!Number.isSafeInteger(e)||e<0)throw new RangeError(`Cannot seed a random stream: found ${e}, expected an integer in 0..2^53-1`);if(o.length>3||o.some(i=>i>>>0!==i))throw new RangeError(`Cannot index a random stream: found [${o}], expected up to three u32`);let[n,s]=$y(r);rp(this.#s,n,s,0,0,e>>>0,Math.floor(e/on)),this.#e=this.#s[0],this.#t=this.#s[1],this.#r=o[0]??0,this.#o=o[1]??0,this.#n=o[2]??0}restart(e,r=0,o=0){this.#r=e,this.#o=r,this.#n=o,this.#i=0,this.#a=4}uint32(){return this.#a===4&&this.#u(),this.#s[this.#a++]}float64(){let e=this.uint32()>>>5,r=this.uint32()>>>6;return(e*2**26+r)*2**-53}below(e){if(e===on)return this.uint32();if(e===0||e>>>0!==e)throw new RangeError(`Cannot draw an integer below ${e}: expected 1..2^32`);let r=this.uint32();if(Math.imul(r,e)>>>0<e){let o=(on-e)%e;for(;Math.imul(r,e)>>>0<o;)r=this.uint32()}return Ni(r,e)>>>0}normal(){return Math.sqrt(2*this.exponential())*Math.cos(2*Math.PI*this.float64())}exponential(){return-Math.log(1-this.float64())}shuffle(e){for(let r=e.length-1;r>0;r--){let o=this.below(r+1),n=e[r];e[r]=e[o],e[o]=n}}#u(){b(this.#i<on,"a random stream gave all of its 2^34 numbers"),rp(this.#s,this.#i++,this.#r,this.#o,this.#n,this.#e,this.#t),this.#a=0}};function rp(t,e,r,o,n,s,i){let a=e|0,u=r|0,c=o|0,l=n|0,f=s|0,d=i|0;for(let p=0;p<zy;p++){let m=Ni(a,ep),g=Math.imul(a,ep),h=Ni(c,tp),_=Math.imul(c,tp);a=h^u^f,u=_,c=m^l^d,l=g,f=f+Ay|0,d=d+Ty|0}t[0]=a,t[1]=u,t[2]=c,t[3]=l}function Ni(t,e){let[r,o,n,s]=[t&65535,t>>>16,e&65535,e>>>16],i=Math.imul(o,n)+(Math.imul(r,n)>>>16)|0,a=Math.imul(r,s)+(i&65535)|0;return Math.imul(o,s)+(i>>>16)+(a>>>16)|0}var op=new Map;function $y(t){let e=op.get(t);if(e)return e;let r=0xcbf29ce484222325n;for(let n of new TextEncoder().encode(t))r=BigInt.asUintN(64,(r^BigInt(n))*0x100000001b3n);let o=[Number(r&0xffffffffn),Number(r>>32n)];return op.set(t,o),o}function Se(t){let e=t|0;return e=Math.imul(e^e>>>16,2246822507),e=Math.imul(e^e>>>13,3266489909),(e^e>>>16)>>>0}var cp=["float64","fixed","log","clipped"],np=8,Kr=1e3,Gr=2**32,nn=4294967295,Li=Number.MAX_SAFE_INTEGER,Ui=.001,Iy=1e6,lp=65535,Ci=65535,qi=Math.log(Iy/Ui)/lp,DA=Math.expm1(qi/2),Ry={name:"float64",maxRttMs:Number.MAX_VALUE,encode(t,e){t!==null&&ln(t,Number.MAX_VALUE),e.setFloat64(0,t===null?-1:t+0)},decode(t){let e=t.getFloat64(0);return e===-1?null:e>=0&&e<1/0&&!Object.is(e,-0)?e:void 0}},fp={name:"fixed",maxRttMs:Li/Kr,encode(t,e){t!==null&&ln(t,fp.maxRttMs),dp(t===null?null:Math.min(Math.round(t*Kr),Li),e)},decode(t){return pp(t,Li)}},Ny={name:"log",maxRttMs:Number.MAX_VALUE,encode(t,e){e.setUint32(0,0),e.setUint32(4,t===null?Ci:Cy(t))},decode(t){let e=t.getUint32(4);if(!(t.getUint32(0)!==0||e>Ci))return e===Ci?null:Ui*Math.exp((e+.5)*qi)}};function Ly(t){if(!Number.isSafeInteger(t)||t<1)throw new RangeError(`Cannot clip RTTs at ${t} \xB5s: expected an integer in 1..2^53-1`);return{name:"clipped",clipUs:t,maxRttMs:Number.MAX_VALUE,encode(e,r){e!==null&&ln(e,Number.MAX_VALUE),dp(e===null?null:Math.min(Math.round(e*Kr),t),r)},decode(e){return pp(e,t)}}}function cn({name:t,clipMs:e}){return t==="clipped"?Ly(Math.max(1,Math.round(e*Kr))):{float64:Ry,fixed:fp,log:Ny}[t]}function ln(t,e){if(!(t>=0&&t<=e))throw new RangeError(`Cannot encode an RTT of ${t} ms: expected a number in 0..${e}`)}function Cy(t){ln(t,Number.MAX_VALUE);let e=Math.floor(Math.log(t/Ui)/qi);return Math.max(0,Math.min(e,lp-1))}function dp(t,e){e.setUint32(0,t===null?nn:Math.floor(t/Gr)),e.setUint32(4,t===null?nn:t%Gr)}function pp(t,e){let r=t.getUint32(0),o=t.getUint32(4);if(r===nn&&o===nn)return null;let n=r*Gr+o;return n<=e?n/Kr:void 0}var BA={[1]:"source",[2]:"destination",[5]:"rtt",[6]:"size",[7]:"errorCount",[8]:"time",[9]:"msmId"};var rr=class{out;rttEncoding;at;#e;constructor(e,r){this.out=e,this.rttEncoding=r,this.at=0,this.#e=new DataView(new ArrayBuffer(np))}writeFields(e,r){let{source:o,destination:n,timeS:s}=e,i=e.rttMs===null?null:Math.min(Math.fround(e.rttMs),this.rttEncoding.maxRttMs),a={sizeBytes:0,packetErrorCount:0,msmId:0},u=r.map(c=>c==="result"?"rtt":c);return this.write({source:o,destination:n,rttMs:i,timeS:s??0,...a},s===null?u.filter(c=>c!=="time"):u,tr(e))}write(e,r,o=Xd(e)){let n=this.at;if(n+o>this.out.length)throw new RangeError(`Cannot write a measurement of ${o} tokens: found space for ${this.out.length-n}`);try{this.out[this.at++]=0;for(let s of r)this.#t(s,e)}catch(s){throw this.at=n,s}return this.at-n!==o&&b(!1,`the order ${r} gave ${this.at-n} of ${o} tokens`),o}#t(e,r){switch(e){case"source":return this.#r(1,r.source);case"destination":return this.#r(2,r.destination);case"rtt":return this.rttEncoding.encode(r.rttMs,this.#e),this.#n(5,np);case"size":return Di("packet size",r.sizeBytes,0,65535),this.#e.setUint16(0,r.sizeBytes),this.#n(6,2);case"errorCount":return Di("error count",r.packetErrorCount,0,255),this.#e.setUint8(0,r.packetErrorCount),this.#n(7,1);case"time":return this.#o(8,"time",r.timeS);case"msmId":return this.#o(9,"measurement id",r.msmId)}}#r(e,r){if(r.length!==4&&r.length!==16)throw new RangeError(`Cannot write an address: found ${r.length} bytes, expected 4 or 16`);this.out[this.at++]=e,this.out[this.at++]=r.length===4?3:4;for(let o=0;o<r.length;o++)this.out[this.at++]=10+r[o]}#o(e,r,o){Di(r,o,Number.MIN_SAFE_INTEGER,Number.MAX_SAFE_INTEGER);let n=Math.floor(o/Gr);this.#e.setInt32(0,n),this.#e.setUint32(4,o-n*Gr),this.#n(e,8)}#n(e,r){this.out[this.at++]=e;for(let o=0;o<r;o++)this.out[this.at++]=10+this.#e.getUint8(o)}};function Di(t,e,r,o){if(!(Number.isInteger(e)&&e>=r&&e<=o))throw new RangeError(`Cannot write the ${t} ${e}: expected an integer in ${r}..${o}`)}var Dy=new Uint16Array(9);function fn(t,e,r){if(e===0)return;let o=Dy,n=t[0],s=0;for(;s<Math.min(e,9);){let l=t[s],f=s++;for(;f>0&&o[f-1]>l;f--)o[f]=o[f-1];o[f]=l,s<=5&&(n=o[s-1>>1])}let i=o[Math.floor((3*s-1)/4)]-o[Math.floor(s/4)],a=Math.min(11,Math.ceil(Math.log2(1+Math.max(0,i)))),u=r===null?0:Math.min(25,1+Math.floor(Math.log2(1+Math.max(0,r)))),c=Math.floor(Math.log2(s));return{typicalCode:n,newestCode:t[0],spread:c*12+a,age:u}}var dn=2;function mp({typicalCode:t,newestCode:e,spread:r,age:o},n,s){n[s]=t<<16|e,n[s+1]=r<<16|o}function hp(t,e){let[r,o]=[t[e],t[e+1]];if(r!==0)return{typicalCode:r>>>16,newestCode:r&65535,spread:o>>>16,age:o&65535}}var mn={};vs(mn,{BYTE_BASE:()=>O,DST_IPV4:()=>he,DST_IPV6:()=>Ce,FAILED:()=>ue,FIELD_ORDERS:()=>Vr,MEASUREMENT_START:()=>ae,QUERY_ORDER:()=>st,ROLE_NAMES:()=>pn,RTT_START:()=>N,SRC_IPV4:()=>ke,SRC_IPV6:()=>nt,THROUGHPUT_START:()=>By,TIMESTAMP_ABS:()=>ce,TIMESTAMP_DELTA1:()=>qe,TIMESTAMP_DELTA4:()=>Ee,VOCAB_SIZE:()=>je,measurementLength:()=>Fe,timeLength:()=>Wr,tokenName:()=>ji,untimedLength:()=>gp});var ae=0,ke=1,nt=2,he=3,Ce=4,ce=5,qe=6,Ee=7,N=8,By=9,ue=10,O=11,je=267,pn=["MeasurementStart","SrcIpv4","SrcIpv6","DstIpv4","DstIpv6","TimestampAbs","TimestampDelta1","TimestampDelta4","RttStart","ThroughputStart","Failed"],Vr=_p(["source","destination","result","time"]),st=["source","destination","time","result"];function ji(t){return t>=11&&t<267?`byte ${t-11}`:pn[t]??`unknown token ${t}`}function Fe(t,e){return gp(t.source.length,t.destination.length,t.rttCode===null)+Wr(t.timeS,e)}function gp(t,e,r){return 3+t+e+(r?1:3)}function Wr(t,e){return t===null?0:e===null?9:t-e<=255?2:5}function _p(t){return t.length<=1?[[...t]]:t.flatMap(e=>_p(t.filter(r=>r!==e)).map(r=>[e,...r]))}function De(t){if(!(t>=0&&t<1/0))throw new RangeError(`Cannot encode an RTT of ${t} ms: expected a finite number of 0 or more`);let e=Math.max(1,t*1e3),r=0;for(;e>=2048&&r<31;)e/=2,r++;return r<<11|Math.min(Math.floor(e),2047)}function hn(t){let{exponent:e,mantissa:r}=wp(t);return e>0?(r+.5)*2**e/1e3:Fi(r)}function gn(t){let{exponent:e,mantissa:r}=wp(t),o=e===31&&r===2047;return{lowMs:t===1?0:Fi(r*2**e),highMs:o?1/0:Fi((r+1)*2**e)}}function Yr(t){return t>>>0!==t||t>65535?!1:(t&2047)>=(t>>11>0?1024:1)}var le=Uint16Array.from(Array.from({length:65536},(t,e)=>e).filter(Yr));function Fi(t){let e=t/1e3;return e*1e3<t?e*(1+Number.EPSILON):e}function wp(t){if(!Yr(t))throw new RangeError(`Cannot decode RTT code ${t}: expected a canonical code`);return{exponent:t>>11,mantissa:t&2047}}function xp(t){let e=new Hi(t),r=[];for(;e.at<t.length;)r.push(e.readMeasurement());return r}var Hi=class extends Fr{#e=null;constructor(e){super(e,mn)}readMeasurement(){let e=this.at;this.readStart();let r=[],o,n,s,i=null;for(;this.at<this.tokens.length&&this.tokens[this.at]!==0;){let a=Zy(this.tokens[this.at]);if(a===void 0)throw this.unexpected("a block");if(r.includes(a))throw this.unexpected(`no second ${a}`);r.push(a),a==="source"?o=this.#t():a==="destination"?n=this.#t():a==="result"?s={rttCode:this.#r()}:i=this.#o()}if(!o)throw this.unexpected("a source");if(!n)throw this.unexpected("a destination");if(!s)throw this.unexpected("a result");return{source:o,destination:n,rttCode:s.rttCode,timeS:i,order:r,position:e}}#t(){let e=this.tokens[this.at++];return this.readBytes(e===1||e===3?4:16)}#r(){if(this.tokens[this.at++]===10)return null;let e=this.at,r=this.#n(2);if(!Yr(r))throw new Ne(e,`found RTT code ${r}, expected a canonical code`);return r}#o(){let e=this.at,r=this.tokens[this.at++];if(r===5!=(this.#e===null)){let i=r===5?"a gap after the first time":"an absolute first time";throw new Ne(e,`found ${ji(r)}, expected ${i}`)}let o=r===5?8:r===6?1:4,n=this.#n(o);if(r===7&&n<=255)throw new Ne(e,`found a gap of ${n} s in 4 bytes, expected 1 byte`);let s=(this.#e??0)+n;if(!Number.isSafeInteger(s))throw new Ne(e,`found a time of ${s} s, expected at most 2^53-1 s`);return this.#e=s,s}#n(e){let r=0;for(let o=0;o<e;o++)r=r*256+this.readByte();return r}};function Zy(t){if(t===1||t===2)return"source";if(t===3||t===4)return"destination";if(t===8||t===10)return"result";if(t>=5&&t<=7)return"time"}var He=class{at;previousTimeS=null;#e;constructor(e,r=0){this.#e=e,this.at=r}write(e,r){let o=this.at,n=Fe(e,this.previousTimeS);if(o+n>this.#e.length)throw new RangeError(`Cannot write a measurement of ${n} tokens: found space for ${this.#e.length-o}`);this.#e[this.at++]=0;for(let s of r)s==="source"?this.#t(1,e.source):s==="destination"?this.#t(3,e.destination):s==="result"?this.#r(e.rttCode):e.timeS!==null&&this.#o(e.timeS);return this.at-o!==n&&b(!1,`the order ${r} gave ${this.at-o} of ${n} tokens`),n}#t(e,r){if(r.length!==4&&r.length!==16)throw new RangeError(`Cannot write an address: found ${r.length} bytes, expected 4 or 16`);this.#e[this.at++]=r.length===4?e:e+1;for(let o=0;o<r.length;o++)this.#e[this.at++]=11+r[o]}#r(e){if(e===null){this.#e[this.at++]=10;return}if(!Yr(e))throw new RangeError(`Cannot write RTT code ${e}: expected a canonical code`);this.#e[this.at++]=8,this.#n(e,2)}#o(e){if(!Number.isSafeInteger(e)||e<0)throw new RangeError(`Cannot write the time ${e}: expected whole seconds in 0..2^53-1`);if(this.previousTimeS===null){this.#e[this.at++]=5,this.#n(e,8),this.previousTimeS=e;return}let r=Math.max(0,e-this.previousTimeS);if(r>4294967295)throw new RangeError(`Cannot write a gap of ${r} s: expected at most 2^32-1 s`);this.#e[this.at++]=r<=255?6:7,this.#n(r,r<=255?1:4),this.previousTimeS+=r}#n(e,r){let o=e;for(let n=this.at+r-1;n>=this.at;n--){let s=Math.floor(o/256);this.#e[n]=11+o-s*256,o=s}this.at+=r}};var pt=11,Ki=2**20;function yp(t,e){let r=t.slice(-9).reverse();return fn(r.map(({rttCode:o})=>o),r.length,bp(e,r[0]?.timeS??null))}function bp(t,e){return t===null||e===null?null:Math.abs(t-e)}var _n=class{#e;#t;constructor(e){this.#e=new Uint16Array(e*9),this.#t=new Float64Array(e)}add(e,{rttCode:r,timeS:o}){let n=e*9;this.#e.copyWithin(n+1,n,n+9-1),this.#e[n]=r,this.#t[e]=o??0}rttHistory(e,{timeS:r=null,newer:o=[]}={}){let n=this.#e.subarray(e*9,(e+1)*9),s=this.#t[e],i=o.filter(c=>c.timeS===null||c.timeS>s),a=[...i.map(({rttCode:c})=>c).reverse(),...n.filter(c=>c>0)],u=i.at(-1)?.timeS??(s>0?s:null);return fn(a,a.length,bp(r,u))}save(){let e=this.#t.length,r=new Float32Array(e*pt);for(let o=0;o<e;o++){let n=this.#e.slice(o*9,(o+1)*9).reverse(),s=this.#t[o];r.set([...n,Math.floor(s/Ki),s%Ki],o*pt)}return r}load(e){let r=this.#t.length;b(e.length===r*pt,`${e.length} numbers of pairs`);for(let o=0;o<r;o++){let n=o*pt,s=e.slice(n,n+9).reverse();this.#e.set(s,o*9),this.#t[o]=e[n+9]*Ki+e[n+9+1]}}},Uy={[5]:8,[6]:1,[7]:4,[8]:2},wn=class t{timeS=null;#e=0;#t=0;#r=0;#o=0;#n=0;#s=new Map;#i=!1;clone(){let e=new t;return e.timeS=this.timeS,e.#e=this.#e,e.#t=this.#t,e.#r=this.#r,e.#o=this.#o,e.#n=this.#n,e.#s=this.#s,e.#i=this.#i=!0,e}read(e){e<11?(this.#r=e,this.#o=0,this.#n=Uy[e]??0):this.#n>0&&(this.#o=this.#o*256+e-11,--this.#n===0&&this.#a(this.#o))}end(e){if(e!==void 0&&this.#t>0){this.#i&&(this.#s=new Map(this.#s)),this.#i=!1;let r={rttCode:this.#t,timeS:this.timeS};this.#s.set(e,[...this.rttsOf(e),r].slice(-9))}this.timeS=null,this.#t=0}rttsOf(e){return this.#s.get(e)??[]}#a(e){this.#r===8?this.#t=e:this.timeS=this.#e=e+(this.#r===5?0:this.#e)}};function xn(t){return Math.log(Math.max(t,.001))}var qy=.001;function Gi(t,e){return t===0?e:(Math.exp(t*e)-1)/t}function vp(t,e){return t===0?e:Math.log(Math.max(1+t*e,qy**t))/t}function Vi(t,e,r){let[o,n]=t<e?[t,e]:[e,t];return Se(Se(o+1)^Math.imul(n+1,2654435769))%r}var yn=class{pairs;numFolds;start;others;logs;folds;weights;constructor(e,r){this.pairs=e,this.numFolds=r;let{numNodes:o,a:n,b:s,rttMs:i,weights:a}=e;b(s.length===n.length&&i.length===n.length,`${n.length}, ${s.length}, ${i.length} pairs`),this.start=new Float64Array(o+1);for(let f=0;f<n.length;f++)b(n[f]<o&&s[f]<o,`a pair of nodes ${n[f]} and ${s[f]} of ${o}`),n[f]!==s[f]&&(this.start[n[f]+1]++,this.start[s[f]+1]++);for(let f=0;f<o;f++)this.start[f+1]+=this.start[f];let u=this.start[o];this.others=new Uint32Array(u),this.logs=new Float32Array(u),this.folds=new Uint8Array(u),this.weights=new Float32Array(u);let c=this.start.slice(),l=(f,d,p)=>{let m=c[f]++;this.others[m]=d,this.logs[m]=xn(i[p]),this.folds[m]=Vi(f,d,r),this.weights[m]=a?.[p]??1};for(let f=0;f<n.length;f++)n[f]!==s[f]&&(l(n[f],s[f],f),l(s[f],n[f],f))}get numNodes(){return this.pairs.numNodes}},de=-1;function Sp(t,e){let{start:r,others:o,folds:n,numNodes:s}=t,i=new Float32Array(s).fill(de),a=new Uint32Array(s);for(let u=0;u<s;u++){let c=0;for(i[u]===de&&(a[c++]=u);c>0;){let l=a[--c];for(let f=r[l];f<r[l+1];f++)e>>n[f]&1||(i[l]=u,i[o[f]]===de&&(i[o[f]]=u,a[c++]=o[f]))}}return i}var bn=class{numFeatures;#e;#t;#r;constructor(e){this.numFeatures=e,this.#e=new Float64Array(e**2),this.#t=new Float64Array(e),this.#r=new Float64Array(e**2)}clear(){this.#e.fill(0),this.#t.fill(0)}add(e,r){let o=this.numFeatures;for(let n=0;n<o;n++){this.#t[n]+=r*e[n];for(let s=0;s<=n;s++)this.#e[n*o+s]+=e[n]*e[s]}}addFour(e,r,o){let n=this.numFeatures,s=this.#e,i=this.#t;for(let a=0;a<n;a++){let u=o[0]*e[a],c=o[1]*e[n+a],l=o[2]*e[2*n+a],f=o[3]*e[3*n+a];i[a]+=u*r[0]+c*r[1]+l*r[2]+f*r[3];for(let d=0,p=a*n;d<=a;d++,p++)s[p]+=u*e[d]+c*e[n+d]+l*e[2*n+d]+f*e[3*n+d]}}solve(e,r){let o=this.numFeatures,n=this.#r,s=new Float64Array(o);for(let i=0;i<o;i++){let a=typeof e=="number"?e:e[i],u=this.#t[i]+a*(r?.[i]??0);for(let c=0;c<=i;c++){let l=this.#e[i*o+c]+(i===c?a:0);for(let f=0;f<c;f++)l-=n[i*o+f]*n[c*o+f];n[i*o+c]=i===c?Math.sqrt(l):l/n[c*o+c]}for(let c=0;c<i;c++)u-=n[i*o+c]*s[c];s[i]=u/n[i*o+i]}for(let i=o-1;i>=0;i--){for(let a=i+1;a<o;a++)s[i]-=n[a*o+i]*s[a];s[i]/=n[i*o+i]}return s}};var jy=.1,Fy=.25,Hy=3;function kp(t,e){return t>Math.floor(e*Fy)?-1:1}var Jr=class{#e;#t;#r;#o;#n;#s=new Float64Array(4);#i=new Float64Array(4);#a=0;constructor(e){this.#e=e;let r=e.rank+1;this.#t=new bn(r),this.#r=new Float64Array(r).fill(e.regularisation),this.#r[0]*=Hy,this.#o=Float64Array.from({length:r},(o,n)=>kp(n,e.rank)),this.#n=new Float64Array(4*r)}add({value:e,weight:r},o,n,s,i=0){let a=this.#o,u=a.length,c=this.#a*u,l=this.#n,f=e-o[n];l[c]=1;for(let p=1;p<u;p++)l[c+p]=a[p]*o[n+p];let d=r;if(s){let p=f;for(let m=0;m<u;m++)p-=l[c+m]*s[i+m];d*=this.#e.knee/Math.max(this.#e.knee,Math.abs(p))}this.#s[this.#a]=f,this.#i[this.#a++]=d,this.#a===4&&this.#u()}solve(e){this.#i.fill(0,this.#a),this.#u();let r=this.#t.solve(this.#r,e);return this.#t.clear(),r}#u(){this.#t.addFour(this.#n,this.#s,this.#i),this.#a=0}};function Ep(t,e,r){let o=new Le(r,"coordinates/vectors"),n=s=>s%(e+1)===0;return Float64Array.from({length:t*(e+1)},(s,i)=>n(i)?0:jy*o.normal())}function Ap(t,e,r){let{neighbours:{start:o,others:n,folds:s,weights:i,numNodes:a},values:u}=e,{rank:c,numPlainSweeps:l,numSweeps:f,without:d}=r,p=c+1,m=new Jr(r);for(let g=0;g<f;g++){let h=g<l?void 0:t;for(let _=0;_<a;_++){if(o[_]===o[_+1]){t.fill(0,_*p,(_+1)*p);continue}for(let x=o[_];x<o[_+1];x++){if(d>>s[x]&1)continue;let A={value:u[x],weight:i[x]};m.add(A,t,n[x]*p,h,_*p)}t.set(m.solve(),_*p)}}}function Tp(t,e,r,o){let n=t[r]+e[r];for(let s=1;s<=o;s++)n+=kp(s,o)*t[r+s]*e[r+s];return n}var Ky=5,zp=3,$p=2048,Np=64,Gy=1e-6,Op=8,Vy=2;function Wy(t,e,{estimate:r,usualError:o}){let n=vn(e,Np),s=n.map(f=>Float64Array.from(t,d=>r(d.place,f.place))),i=n.map(({log:f},d)=>s[d].map(p=>-(zp+1)/2*Math.log1p(((p-f)/o)**2/zp))),a=new Float64Array(t.length);for(let f of i)f.forEach((d,p)=>a[p]+=d);let u=n.map(({log:f},d)=>{let p=Pp(a.map((m,g)=>m-i[d][g]));return Math.abs(p.reduce((m,g,h)=>m+g*s[d][h],0)-f)}).sort((f,d)=>f-d),c=u.length,l=o*(1+Vy/c);return{nodes:[...Pp(a)].flatMap((f,d)=>f>0?[{node:t[d].node,weight:f}]:[]),error:(c*u[c>>1]+Op*l)/(c+Op)}}function Pp(t){let e=t.reduce((n,s)=>Math.max(n,s),-1/0),r=t.map(n=>Math.exp(n-e)).map(n=>n<Gy?0:n),o=r.reduce((n,s)=>n+s,0);return r.map(n=>n/o)}function vn(t,e){return t.length<=e?t:Array.from({length:e},(r,o)=>t[Math.floor(o*t.length/e)])}var Yy=2,Jy=2/3,Xy=5,Qy=2,Mp=de-1,kt=class t{factors;#e;constructor(e){this.factors=e,this.#e=e.options.rank+1}static fit(e,r){let{powers:o,rank:n,without:s}=r,{numNodes:i,logs:a}=e,u=n+1,c=eb(e,s),l=new Float32Array(i*o.length*u),f=new Float32Array(a.length),d=Ep(i,n,r.seed);return o.forEach((p,m)=>{for(let h=0;h<f.length;h++)f[h]=Gi(p,a[h]-c[0]);let g=m===0?{numPlainSweeps:Yy,numSweeps:r.numSweeps}:{numPlainSweeps:0,numSweeps:Math.ceil((1-Jy)*r.numSweeps)};Ap(d,{neighbours:e,values:f},{...r,...g});for(let h=0;h<i;h++)l.set(d.subarray(h*u,(h+1)*u),(h*o.length+m)*u)}),new t({powers:o,options:r,vectors:l,components:Sp(e,s),range:c})}vectorOf(e){let{powers:r,vectors:o,components:n}=this.factors,s=r.length*this.#e,i=n[e];return{vectors:o.subarray(e*s,(e+1)*s),component:i<de?Mp-i:i}}put(e,{vectors:r,component:o}){this.vectorOf(e).vectors.set(r),this.factors.components[e]=o===de?de:Mp-o}estimate(e,r){if(e.component===de||r.component===de)return;let{powers:o,options:n,range:[s,i,a]}=this.factors,u=e.component===r.component?n.rank:0,c=0,l=1/0,f=-1/0;return o.forEach((d,p)=>{let m=Tp(e.vectors,r.vectors,p*this.#e,u),g=Math.min(a,Math.max(i,s+vp(d,m)));c+=g,l=Math.min(l,g),f=Math.max(f,g)}),{log:c/o.length,spread:(f-l)/2}}locate(e,{usualError:r,without:o}){let{powers:n,options:s,components:i}=this.factors,a=new Float32Array(n.length*this.#e),u=x=>this.vectorOf(x).component,c=Rp(e.map(({node:x})=>u(x)).filter(x=>x!==de)),l=e.filter(({node:x})=>u(x)===c);if(c===void 0)return{vectors:a,component:de,error:r};let f=[...i.keys()].filter(x=>i[x]===c&&!o.has(x)),d=vn(f,$p).map(x=>({node:x,place:this.vectorOf(x)})),p=l.map(({node:x,log:A})=>({place:this.vectorOf(x),log:A})),{nodes:m,error:g}=Wy(d,p,{estimate:(x,A)=>this.estimate(x,A)?.log??NaN,usualError:r}),h=s.regularisation*Ky,_=new Jr({...s,regularisation:h});return n.forEach((x,A)=>{let M=this.#r(m,A),k=M;for(let I=0;I<Xy;I++)this.#t(_,l,A,k),k=_.solve(M);a.set(k,A*this.#e)}),{vectors:a,component:c,error:Ip(g,r)}}typicalNode(e){let{powers:r,components:o}=this.factors,n=new Float32Array(r.length*this.#e),s=Rp(o.filter(f=>f>de));if(s===void 0)return{vectors:n,component:de,error:e};let i=vn([...o.keys()].filter(f=>o[f]===s),$p),a=i.map(f=>({node:f,weight:1/i.length}));r.forEach((f,d)=>n.set(this.#r(a,d),d*this.#e));let u=vn(i,Np).map(f=>this.vectorOf(f)),c=(f,d)=>this.estimate(f,d)?.log??NaN,l=u.flatMap(f=>{let d=c(f,{vectors:n,component:s});return u.filter(p=>p!==f).map(p=>Math.abs(c(f,p)-d))}).sort((f,d)=>f-d);return{vectors:n,component:s,error:Ip(l[l.length>>1]??e,e)}}#t(e,r,o,n){let{powers:s,vectors:i,range:a}=this.factors;for(let{node:u,log:c}of r){let l=(u*s.length+o)*this.#e;e.add({value:Gi(s[o],c-a[0]),weight:1},i,l,n)}}#r(e,r){let o=new Float64Array(this.#e),{vectors:n,powers:s}=this.factors;for(let{node:i,weight:a}of e){let u=(i*s.length+r)*this.#e;for(let c=0;c<o.length;c++)o[c]+=a*n[u+c]}return o}};function Ip(t,e){return Math.fround(Qy*t*Math.max(1,t/e))}function Rp(t){let e=new Map;for(let r of t)e.set(r,(e.get(r)??0)+1);return[...e].sort(([r,o],[n,s])=>s-o||r-n)[0]?.[0]}function eb({logs:t,folds:e,weights:r},o){let n=0,s=0,i=1/0,a=-1/0;for(let u=0;u<t.length;u++)o>>e[u]&1||(n+=r[u]*t[u],s+=r[u],i=Math.min(i,t[u]),a=Math.max(a,t[u]));return s===0?new Float32Array(3):Float32Array.of(n/s,i,a)}var Et=[0,.5,1],Lp=6,tb=.2;function Sn(t){let{numNodes:e,numFolds:r,rank:o}=t;return{vectors:[r+1,e,Et.length,1+o],nodes:[r+1,2,e],fits:[r+1,Lp]}}function Wi({numNodes:t,numFolds:e,rank:r},o){let n=Et.length*(1+r);return Array.from({length:e+1},(s,i)=>[{part:"vectors",start:(i*t+o)*n,length:n},{part:"nodes",start:2*i*t+o,length:1},{part:"nodes",start:(2*i+1)*t+o,length:1}]).flat()}var At=class t{size;fits;#e;constructor(e,r){this.size=e,this.fits=r,b(r.length===e.numFolds+1,`${r.length} factorisations`)}foldOf(e,r){return Vi(e,r,this.size.numFolds)}estimate(e,r,o=this.size.numFolds){let{factorisation:n,errors:s,usualError:i}=this.fits[o],a=f=>typeof f=="number"?n.vectorOf(f):f.places[o],u=n.estimate(a(e),a(r));if(!u)return;let c=f=>typeof f=="number"?s[f]:f.places[o].error,l=Math.sqrt(c(e)*c(r))*(u.spread/i+tb);return{rttMs:Math.exp(u.log),error:l}}locate(e,r=new Set){let o=e.map(({node:n,rttMs:s})=>({node:n,log:xn(s)}));return{places:this.fits.map(({factorisation:n,usualError:s})=>n.locate(o,{usualError:s,without:r}))}}get typical(){return this.#e??={places:this.fits.map(({factorisation:e,usualError:r})=>e.typicalNode(r))}}hasCoordinates(e,r=this.size.numFolds){return this.fits[r].factorisation.vectorOf(e).component!==de}put(e,{places:r}){r.forEach((o,n)=>{let{factorisation:s,errors:i}=this.fits[n];s.put(e,o),i[e]=o.error})}save(){let e=o=>{let n=new Float32Array(o.reduce((i,a)=>i+a.length,0)),s=0;for(let i of o)n.set(i,s),s+=i.length;return n},r=this.fits.map(({factorisation:o})=>o.factors);return{vectors:e(r.map(({vectors:o})=>o)),nodes:e(this.fits.flatMap(({errors:o},n)=>[r[n].components,o])),fits:e(this.fits.map(({usualError:o},n)=>{let{range:s,options:{knee:i,regularisation:a}}=r[n];return[...s,i,a,o]}))}}static load(e,r){let{numNodes:o,numFolds:n,rank:s}=e;for(let[l,f]of Object.entries(Sn(e))){let{length:d}=r[l];b(d===f.reduce((p,m)=>p*m),`${d} ${l} of coordinates of shape ${f}`)}let{vectors:i,nodes:a,fits:u}=r,c=(l,f,d)=>l.subarray(d*f,(d+1)*f);return new t(e,Array.from({length:n+1},(l,f)=>{let d=c(u,Lp,f),[p,m,g]=d.subarray(3);return{factorisation:new kt({powers:Et,options:{rank:s,knee:p,regularisation:m},vectors:c(i,o*Et.length*(1+s),f),components:c(a,o,2*f),range:d.subarray(0,3)}),errors:c(a,o,2*f+1),usualError:g}}))}};var rb=[{knee:.025,regularisation:.12},{knee:.01,regularisation:.06},{knee:.06,regularisation:.12},{knee:.06,regularisation:.5}],ob=[.5],Cp=5,nb=1,sb=5e-4,ib=4;function Dp(t,e={}){let{seed:r=0,numFolds:o=4,numSweeps:n=30,maxBytes:s=2**29,settings:i=rb}=e;b(o>=4&&o<=30&&o%2===0,`${o} folds`);let a=ib*Et.length*(o+1)*t.numNodes,u=Math.max(1,Math.min(e.rank??24,Math.floor(s/a)-1)),c=new yn(t,o),l={rank:u,numSweeps:n,seed:r},f=i.map(ab),d=f.map(m=>cb(c,{...l,...m})),p=Array.from({length:o+1},(m,g)=>{let h=g===o,_=h?2**o-1:1<<ub(g),x=fb(d.map(M=>lb(c,M,_)));return{factorisation:kt.fit(c,{...l,...f[x],powers:Et,without:h?0:1<<g}),...db(c,d[x],_)}});return new At({numNodes:t.numNodes,numFolds:o,rank:u},p)}function ab({knee:t,regularisation:e}){return{knee:Math.fround(t),regularisation:Math.fround(e)}}function ub(t){return t^1}function cb(t,e){let{start:r,others:o,folds:n,logs:s,numNodes:i,numFolds:a}=t,u=new Float32Array(s.length);for(let c=0;c<a;c+=2){let l=3<<c,f=kt.fit(t,{...e,powers:ob,without:l});for(let d=0;d<i;d++){let p=f.vectorOf(d);for(let m=r[d];m<r[d+1];m++){if(!Yi(l,n[m]))continue;let g=f.estimate(p,f.vectorOf(o[m]));u[m]=g?Math.abs(g.log-s[m]):NaN}}}return u}function Yi(t,e){return(t>>e&1)===1}function lb({folds:t},e,r){let o=0,n=0;for(let s=0;s<e.length;s++)!Yi(r,t[s])||Number.isNaN(e[s])||(o+=Math.sqrt(e[s]),n++);return n===0?0:o/n}function fb(t){return t.indexOf(Math.min(...t))}function db({start:t,folds:e,numNodes:r},o,n){let s=(c,l)=>{let f=o.subarray(c,l).filter((d,p)=>Yi(n,e[c+p])&&!Number.isNaN(d));return{count:f.length,median:f.sort()[f.length>>1]}},i=s(0,o.length).median??nb,a=Math.fround(Math.max(sb,i)),u=Float32Array.from({length:r},(c,l)=>{let{count:f,median:d}=s(t[l],t[l+1]);return(f*(d??0)+Cp*a)/(f+Cp)});return{usualError:a,errors:u}}var $=4294967295,pb=64,Tt=class{firstRow;numRows;#e;constructor(e,r){this.firstRow=e,this.numRows=r,this.#e=new Uint32Array(r)}row(e,r,o=!1){let n=r>>>0||1,{numRows:s}=this,i=this.#e,a=(e>>>0)%s;for(let u=0;u<Math.min(pb,s);u++){if(i[a]===n)return this.firstRow+a;if(i[a]===0)return o?(i[a]=n,this.firstRow+a):$;a=a+1===s?0:a+1}return $}get numOwned(){return this.#e.reduce((e,r)=>r===0?e:e+1,0)}save(e){mb(this.#e,e.subarray(2*this.firstRow))}load(e){b(e.length>=2*(this.firstRow+this.numRows),`${e.length} numbers of keys`),hb(e.subarray(2*this.firstRow),this.#e)}};function mb(t,e=new Float32Array(2*t.length)){for(let r=0;r<t.length;r++)e[2*r]=t[r]>>>16,e[2*r+1]=t[r]&65535;return e}function hb(t,e=new Uint32Array(t.length/2)){for(let r=0;r<e.length;r++)e[r]=t[2*r]*2**16+t[2*r+1];return e}function Bp(t,e){let r=Se(t+e),o=Se(r^Zp);return{hash1:r,hash2:o,length:e,row:$,isDropped:!1,numBytes:0,isWhole:!1}}var Zp=2654435769;function kn(t,e){t.hash1=Se(t.hash1*257+e+1),t.hash2=Se(Math.imul(t.hash2,65599)+e+1),t.isWhole=++t.numBytes===t.length}function Up(t,e,r=0){let o=(n,s)=>Se(n+s^Math.imul(n,s)^Math.imul(r,Zp));return{hash1:o(t.hash1,e.hash1),hash2:o(t.hash2,e.hash2)}}function En(t,e,r){return r>0&&Se(t^e)<r*2**32}var Xr="coordinates.keys";function Qr(t){return`coordinates.${t}`}function qp(t){let e=Object.entries(Sn(or(t))).map(([r,o])=>{let n=o[o.length-1];return[Qr(r),[o.reduce((s,i)=>s*i)/n,n]]});return new Map([[Xr,[t.nodes,2]],...e])}function or({nodes:t,folds:e,rank:r}){return{numNodes:t,numFolds:e,rank:r}}var An=class{config;#e;#t;constructor(e){this.config=e,this.#e=new Tt(0,e.nodes)}load(e){this.#e.load(B(e,Xr));let r=Object.keys(Sn(or(this.config))),o=Object.fromEntries(r.map(n=>[n,B(e,Qr(n))]));this.#t=At.load(or(this.config),o)}save(e){let r=new Float32Array(2*this.config.nodes);this.#e.save(r),e.set(Xr,r);for(let[o,n]of Object.entries(this.#t?.save()??{}))e.set(Qr(o),n)}get numNodes(){return this.#e.numOwned}node(e,r,o=!1){return this.#e.row(e,r,o)}fit(e){let{nodes:r,rank:o,folds:n}=this.config,s={rank:o,numFolds:n,maxBytes:1/0};this.#t=Dp({numNodes:r,...e},s)}hasCoordinates(e){return e!==$&&(this.#t?.hasCoordinates(e)??!1)}locate(e,r){let o=e.filter(({node:n})=>this.hasCoordinates(n)&&!r.has(n));return o.length===0?void 0:this.#t?.locate(o,r)}put(e){if(!(!this.#t||e.size===0)){this.#t=At.load(this.#t.size,this.#t.save());for(let[r,o]of e)this.#t.put(r,o)}}estimate(e,r,o={}){let{isTraining:n=!1,hidden:s=[]}=o,i=this.#t;if(!i||e===r&&e!==$)return;let a=n&&e!==$&&r!==$?i.foldOf(e,r):this.config.folds,[u,c]=[e,r].map((f,d)=>f!==$&&!s[d]&&i.hasCoordinates(f,a)?f:i.typical),l=i.estimate(u,c,a);return l&&{...l,isOfBoth:typeof u=="number"&&typeof c=="number"}}};var wb=0,xb=256,yb=512,bb=768,Ji=772,vb=0,Sb=Ji,kb=2*Ji,Fp=3*Ji,Hp=Fp+48,Kp=Hp+26,jp=2**-10,Gp=22,Vp=Kp+Gp;function Wp(t){return Jp(t,e=>[wb+(e>>8),xb+(e&255)])}function Yp(t,e){return Jp(t,r=>{let o=(r>>8)-e;return o===0?[yb+(r&255)]:[bb+(o>0?2:0)+(Math.abs(o)>1?1:0)]})}function Jp(t,e){if("rttMs"in t){let i=Math.log2(Math.max(t.error,jp)/jp),a=Math.min(Gp-1,Math.floor(2*i));return[...e(De(t.rttMs)).map(u=>kb+u),Kp+a]}let{typicalCode:r,newestCode:o,spread:n,age:s}=t;return[...e(r).map(i=>vb+i),...e(o).map(i=>Sb+i),Fp+n,Hp+s]}var Eb={v1:266,v2:267},eo=t=>P().min(1).max(t),Xp=2**36,Qp=vt({rows:P().min(16).max(2**24),seed:P().min(0).max(2**31-1).default(0),dropShare:v().min(0).max(.95).default(.1)}),Ab=vt({...Qp.shape,history:bt().default(!0)}),Tb=vt({nodes:P().min(16).max(2**24),rank:P().min(1).max(64).default(24),folds:P().min(4).max(30).multipleOf(2).default(4),dropShare:v().min(0).max(.95).default(.2)}),zb=vt({numLayers:eo(1024),width:eo(65536),numHeads:eo(1024),headDim:Fd([32,64,128]),mlpWidth:eo(262144),sequenceLength:eo(65535),vocabulary:Ue(["v1","v2"]).default("v2"),rttEncoding:Ue(cp).nullable().default(null),rttClipMs:v().min(.001).max(1e9).default(1e3),activation:Ue(["relu2","gelu","silu"]).default("relu2"),softcap:v().min(.001).max(1e6).nullable().default(15),qkNorm:bt().default(!0),keyShift:bt().default(!1),byteVectors:Ue(["random","ordinal"]).default("random"),prefixVectors:Qp.nullable().default(null),pairVectors:Ab.nullable().default(null),coordinates:Tb.nullable().default(null)});function Xi(t){let e=Yd(zb,t,"model");return $b(e),e}function $b(t){for(let r of["width","mlpWidth"])if(t[r]%4!==0)throw new Ze(`model.${r}`,`found ${t[r]}, expected a multiple of 4`);for(let r of["prefixVectors","pairVectors","coordinates"])if(t[r]&&t.vocabulary!=="v2")throw new Ze(`model.${r}`,`vocabulary ${t.vocabulary} does not support it, expected v2 or null`);if(t.rttEncoding!==null&&t.vocabulary!=="v1")throw new Ze("model.rttEncoding","vocabulary v2 has its own encoding, expected v1 or null");let e=Pb(t);if(e>Xp)throw new Ze("model",`found ${e} parameters, expected at most ${Xp}`)}function Tn({vocabulary:t,rttEncoding:e,rttClipMs:r}){return t==="v1"?{name:e??"float64",clipMs:r}:void 0}function ye(t){let{prefixVectors:e,pairVectors:r}=t;return(e?.rows??0)+(r?.rows??0)+Ob(t)}function Ob({pairVectors:t,coordinates:e}){return t?.history||e?Vp:0}function K(t){return Eb[t.vocabulary]}function zn(t){let{width:e,mlpWidth:r}=t,o=t.numHeads*t.headDim,n=K(t),s=new Map([["wte.weight",[n,e]]]),i=ye(t);i>0&&s.set("address_embed.weight",[i,e]);for(let a=0;a<t.numLayers;a++){let u=`blocks.${a}`;s.set(`${u}.attn.q_proj.weight`,[o,e]),s.set(`${u}.attn.k_proj.weight`,[o,e]),s.set(`${u}.attn.v_proj.weight`,[o,e]),s.set(`${u}.attn.o_proj.weight`,[e,o]),s.set(`${u}.mlp.up_proj.weight`,[r,e]),s.set(`${u}.mlp.down_proj.weight`,[e,r])}return s.set("lm_head.weight",[n,e]),s}function $n(t){let e=zn(t),{prefixVectors:r,pairVectors:o}=t,n=(r?.rows??0)+(o?.rows??0);n>0&&e.set(Ae,[n,2]),o?.history&&e.set(nr,[o.rows,pt]);let s=t.coordinates?qp(t.coordinates):[];return new Map([...e,...s])}var Ae="address_embed.keys",nr="address_embed.history";function Pb(t){let e=0;for(let r of zn(t).values())e+=r[0]*r[1];return e}var tm=46,em=58,to=8;function On(t){return t.includes(":")?Mb(t):rm(t,0)}function te(t){if(t.length===4)return t.join(".");if(t.length!==16)throw new RangeError(`Cannot write an address: found ${t.length} bytes, expected 4 or 16`);if(Nb(t))return`::ffff:${t.subarray(12).join(".")}`;let e=Array.from({length:to},(s,i)=>t[2*i]<<8|t[2*i+1]),[r,o]=Lb(e),n=e.map(s=>s.toString(16));return o<2?n.join(":"):`${n.slice(0,r).join(":")}::${n.slice(r+o).join(":")}`}function rm(t,e){let r=new Uint8Array(4),o=e;for(let n=0;n<4;n++){if(n>0&&t.charCodeAt(o++)!==tm)return;let s=o,i=0;for(;o-s<3;o++){let u=t.charCodeAt(o)-48;if(!(u>=0&&u<=9))break;i=i*10+u}let a=o-s;if(a===0||i>255||a>1&&t.charCodeAt(s)===48)return;r[n]=i}return o===t.length?r:void 0}function Mb(t){let e=new Uint8Array(16),r=0,o=0,n=-1;for(t.startsWith("::")&&([r,n]=[2,0]);r<t.length;){if(o===to)return;let s=Ib(t,r);if(t.charCodeAt(s)===tm){let a=rm(t,r);if(!a||o>to-2)return;e.set(a,2*o),o+=2;break}if(s===r||s-r>4)return;let i=parseInt(t.slice(r,s),16);if(e[2*o]=i>>8,e[2*o+1]=i&255,o++,s===t.length)break;if(t.charCodeAt(s)!==em||s+1===t.length)return;if(r=s+1,t.charCodeAt(r)===em){if(n>=0)return;n=o,r++}}return Rb(e,o,n)}function Ib(t,e){let r=e;for(;r<t.length;r++){let o=t.charCodeAt(r),n=o>=48&&o<=57,s=o|32;if(!n&&!(s>=97&&s<=102))break}return r}function Rb(t,e,r){if(r<0)return e===to?t:void 0;if(e===to)return;let o=2*(e-r);return t.copyWithin(16-o,2*r,2*e),t.fill(0,2*r,16-o),t}function Nb(t){return t.subarray(0,10).every(e=>e===0)&&t[10]===255&&t[11]===255}function Lb(t){let e=0,r=0,o=0;return t.forEach((n,s)=>{o=n===0?o+1:0,o>r&&([e,r]=[s-o+1,o])}),[e,r]}function Qi(t){let{bytes:e,length:r}=sm(t);return ro(e,r)}function om(t){let{bytes:e,length:r}=sm(t);return e.some((o,n)=>(o&~ea(r,n))!==0)}function ro(t,e=t.length*8){return{bytes:t.map((r,o)=>r&ea(e,o)),length:e}}function ee({bytes:t,length:e}){return e===t.length*8}function Ke(t){let e=te(t.bytes);return ee(t)?e:`${e}/${t.length}`}function nm({bytes:t,length:e},r){return{first:t[r],last:t[r]|~ea(e,r)&255}}function ea(t,e){return 255<<8-Math.min(8,Math.max(0,t-8*e))&255}function oo(t){return/^AS\d+$/i.test(t)?"; this is an AS number: give one of its prefixes":/^(?=.*[a-z])[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?$/i.test(t)?"; this looks like a host name: resolve it and give its address":""}function sm(t){let e=Cb(t);if("fault"in e)throw new y(`Cannot read ${JSON.stringify(t)}: ${e.fault}`);return e}function Cb(t){let e=t.indexOf("/"),r=On(e<0?t:t.slice(0,e));if(!r)return{fault:`expected an IPv4 or IPv6 address or prefix${oo(t)}`};let o=r.length*8;if(e<0)return{bytes:r,length:o};let n=t.slice(e+1),s=/^(0|[1-9]\d{0,2})$/.test(n)?Number(n):NaN;return s<=o?{bytes:r,length:s}:{fault:`found length ${n||"none"}, expected 0 to ${o}`}}var Db=2**18,Bb=2**20,sr=2**21,zt={measurements:0,lastS:null},Z=4,oa=class{columns;isTruncated;#e;constructor(e,r){this.columns=e,this.isTruncated=r;let{v4:o,v6:n,seen:s,pairs:i}=e;this.#e=o.length,b(s.length===Z*(o.length+n.length/Z)&&i.length%Z===0,"the columns of known addresses are of different lengths")}get numAddresses(){return this.columns.seen.length/Z}get numPairs(){return this.columns.pairs.length/Z}address(e){let r=this.#t(e);return r<0?void 0:this.#n(r)}pair(e,r){return this.measuredIn(e,{bytes:r,length:8*r.length})}measuredIn(e,r){let o=this.#t(e);if(o<0)return zt;let{pairs:n}=this.columns,[s,i]=this.#r(r),a=0,u=0,c=ta(this.numPairs,l=>n[Z*l]-o||n[Z*l+1]-s);for(let l=Z*c;n[l]===o&&n[l+1]<i;l+=Z)a+=n[l+2],u=Math.max(u,n[l+3]);return so(a,u)}destinationsOf(e){let r=this.#t(e);if(r<0)return[];let{pairs:o}=this.columns,n=[],s=ta(this.numPairs,i=>o[Z*i]-r);for(let i=s;i<this.numPairs&&o[Z*i]===r;i++){let a=Z*i,u={measurements:o[a+2],lastS:o[a+3]};n.push({address:this.#n(o[a+1]),seen:u})}return n}get pairDiscount(){let e=[0,0,0];for(let r=2;r<this.columns.pairs.length;r+=Z)this.columns.pairs[r]<=2&&e[this.columns.pairs[r]]++;return(e[1]+1)/(e[1]+2*e[2]+3)}*destinations(){for(let e=0;e<this.numAddresses;e++)this.columns.seen[Z*e+2]>0&&(yield this.#n(e))}countIn(e){let[r,o]=this.#r(e);return o-r}prefixAround(e){for(let r of e.length===4?[24,16,8]:[64,48,32]){let o=ro(e,r),n=this.countIn(o);if(n>0)return{prefix:o,numKnown:n}}}#t(e){let[r,o]=this.#r({bytes:e,length:8*e.length});return o>r?r:-1}#r({bytes:e,length:r}){let o=e.map((n,s)=>n|255>>Math.min(8,Math.max(0,r-8*s)));return[this.#o(e,!1),this.#o(o,!0)]}#o(e,r){let{v4:o,v6:n}=this.columns,s=um(e),i=r?-1:0,[a,u,c]=s.length===1?[o,1,0]:[n,Z,this.#e];return c+ta(a.length/u,l=>cm(a,u*l,s)||i)}#n(e){let{v4:r,v6:o,seen:n}=this.columns,s=e<this.#e?r.subarray(e,e+1):o.subarray(Z*(e-this.#e),Z*(e-this.#e+1)),i=Z*e;return{bytes:Uint8Array.from({length:4*s.length},(a,u)=>s[u>>2]>>>24-8*(u&3)),asSource:so(n[i],n[i+1]),asDestination:so(n[i+2],n[i+3])}}};function so(t,e){return t===0?zt:{measurements:t,lastS:e>0?e:null}}function ta(t,e){let r=0,o=t;for(;r<o;){let n=r+o>>>1;e(n)<0?r=n+1:o=n}return r}function um(t){let e=new DataView(t.buffer,t.byteOffset,t.length);return Uint32Array.from({length:t.length/4},(r,o)=>e.getUint32(4*o))}function cm(t,e,r){for(let o=0;o<r.length;o++)if(t[e+o]!==r[o])return t[e+o]-r[o];return 0}var ao=class t{#e=new Map;#t=[];#r=[];#o=new Map;#n=[];#s=!1;#i=0;#a=1/0;#u=-1/0;static of({known:{columns:e,isTruncated:r},summary:o}){let n=new t,{v4:s,v6:i,seen:a,pairs:u}=e;for(let c=0;c<s.length;c++)n.#c(s.subarray(c,c+1));for(let c=0;c<i.length;c+=Z)n.#c(i.subarray(c,c+Z));a.forEach((c,l)=>n.#r[l]=c);for(let c=0;c<u.length;c+=Z)n.#o.set(u[c]*sr+u[c+1],c/Z),n.#n.push(u[c+2],u[c+3]);return n.#s=r,n.#i=o.measurements,n.#a=o.startS??1/0,n.#u=o.endS??-1/0,n}id(e){return this.#c(um(e))}#c(e){let r=e.join(),o=this.#e.get(r);if(o!==void 0)return o;let n=this.#t.length;return n===sr?(this.#s=!0,-1):(this.#e.set(r,n),this.#t.push(e),this.#r.push(0,0,0,0),n)}add(e,r,o){if(this.#i++,o!==null&&(this.#a=Math.min(this.#a,o),this.#u=Math.max(this.#u,o)),e<0||r<0)return;ra(this.#r,Z*e,o),ra(this.#r,Z*r+2,o);let n=e*sr+r,s=this.#o.get(n);if(s===void 0){if(s=this.#o.size,s===sr){this.#s=!0;return}this.#o.set(n,s),this.#n.push(0,0)}ra(this.#n,2*s,o)}summary(e){let r=n=>this.#t.filter((s,i)=>this.#r[Z*i+n]>0).length,o=this.#a<1/0;return{origin:e.origin,isSynthetic:e.isSynthetic,startS:o?this.#a:null,endS:o?this.#u:null,measurements:this.#i,sources:r(0),destinations:r(2)}}table(e=Db,r=Bb){let o=this.#r,n=p=>o[Z*p]+o[Z*p+2],s=im(this.#t.map((p,m)=>m),e,n);s.sort((p,m)=>{let[g,h]=[this.#t[p],this.#t[m]];return g.length-h.length||cm(g,0,h)});let i=new Map(s.map((p,m)=>[p,m])),a=[];for(let[p,m]of this.#o){let g=i.get(Math.floor(p/sr)),h=i.get(p%sr);g===void 0||h===void 0||a.push([g,h,this.#n[2*m],this.#n[2*m+1]])}let u=im(a,r,([,,p])=>p);u.sort((p,m)=>p[0]-m[0]||p[1]-m[1]);let c=s.filter(p=>this.#t[p].length===1),l=s.slice(c.length),f={v4:Uint32Array.from(c,p=>this.#t[p][0]),v6:Uint32Array.from(l.flatMap(p=>[...this.#t[p]])),seen:Uint32Array.from(s.flatMap(p=>o.slice(Z*p,Z*(p+1)))),pairs:Uint32Array.from(u.flat())},d=s.length===this.#t.length&&u.length===this.#o.size;return new oa(f,this.#s||!d)}};function ra(t,e,r){t[e]++,t[e+1]=Math.max(t[e+1],r??0)}function im(t,e,r){return t.length<=e?t:t.toSorted((o,n)=>r(n)-r(o)).slice(0,e)}function no(t,e=zt){let{measurements:r,lastS:o}=so(t.measurements+e.measurements,Math.max(t.lastS??0,e.lastS??0));return{measurements:r,inAdaptation:e.measurements,lastS:o}}function Pn({known:t,adaptation:e},r,o){return no(t.measuredIn(r,o),e?.known.measuredIn(r,o))}function lm(t,e,r){if(!t){let m="No table of the training data is at hand: whether these addresses were measured is not known.",g=no(zt);return{kind:"network",text:m,src:g,dst:g,pair:g}}let{known:o,summary:n,adaptation:s}=t,[i,a]=[e,r].map(m=>no(am(o,m),s&&am(s.known,m))),u=ee(e)&&ee(r),c=u?Pn(t,e.bytes,r):no(zt),l=u?Pn(t,r.bytes,e):no(zt),f=c.measurements+l.measurements>0?"pair":i.measurements>0?a.measurements>0?"addresses":"source":a.measurements>0?"destination":"network",d=(...m)=>` a guess${m.map((g,h)=>`${h===0?" from ":" and "}${Zb(o,g)}`).join("")}.`,p=[{pair:c.measurements>0?`Pair ${ir(c)}.`:`Pair ${ir(l)}, in the other direction only.`,addresses:`Source ${ir(i)}, destination ${ir(a)}, the pair never: an estimate from each.`,source:`Source ${ir(i)}, destination never:${d(r)}`,destination:`Destination ${ir(a)}, source never:${d(e)}`,network:`Neither ${u?"address":"place as one address"} is in the training data:${d(e,r)}`}[f]];return(o.isTruncated||s?.known.isTruncated)&&f!=="pair"&&p.push("Only the most measured addresses and pairs are listed."),n.isSynthetic&&p.push("The model knows a synthetic Internet, not the real one."),{kind:f,text:p.join(" "),src:i,dst:a,pair:c}}function am(t,e){let r=ee(e)?t.address(e.bytes):void 0;if(!r)return zt;let{asSource:o,asDestination:n}=r,s=Math.max(o.lastS??-1/0,n.lastS??-1/0);return so(o.measurements+n.measurements,s)}function Zb(t,e){let r=ee(e)?t.prefixAround(e.bytes):{prefix:e,numKnown:t.countIn(e)};if(!r)return`the whole network (nothing is known near ${Ke(e)})`;let{prefix:o,numKnown:n}=r;return`${Ke(o)} (${n} known ${n===1?"address":"addresses"})`}function ir({measurements:t,inAdaptation:e,lastS:r}){if(t===0)return"never measured";let o=t===1?"measured once":`measured ${t} times`,n=e===t?`in ${t} ${t===1?"measurement":"measurements"} of the adaptation`:e>0?`${o}, ${e} of them in the adaptation`:o;return r===null?n:`${n}, last on ${new Date(r*1e3).toISOString().slice(0,10)}`}function fm({kind:t,text:e,src:r,dst:o,pair:n}){return{kind:t,text:e,src:io(r),dst:io(o),pair:io(n)}}function io({measurements:t,inAdaptation:e,lastS:r}){return{measurements:t,in_adaptation:e,last_seen:Ub(r)}}function Ub(t){return t===null?null:new Date(t*1e3).toISOString()}var be="address_embed.weight",qb={nodes:new Uint32Array,keys:new Float32Array,values:new Float32Array};function jb({coordinates:t}){return t?Wi(or(t),0).reduce((e,{length:r})=>e+r,0):0}function dm({prefixVectors:t,pairVectors:e}){return{firstPair:t?.rows??0,length:e?.history?pt:0}}function pm(t,e,r){let o=new Map;return hm(t,r,({name:n,start:s,length:i,values:a,at:u})=>{let c=o.get(n)??B(e,n).slice();o.set(n,c),c.set(a.subarray(u,u+i),s)}),new Map([...e,...o])}function mm(t,e,r,o=qb.nodes){let n={rows:r,keys:new Float32Array(2*r.length),values:new Float32Array(t.width*r.length),history:new Float32Array(dm(t).length*r.length),coordinates:{nodes:o,keys:new Float32Array(2*o.length),values:new Float32Array(jb(t)*o.length)}};return hm(t,n,({name:s,start:i,length:a,values:u,at:c})=>{u.set(B(e,s).subarray(i,i+a),c)}),n}function hm(t,e,r){let{rows:o,keys:n,values:s,history:i,coordinates:{nodes:a,...u}}=e,{width:c,coordinates:l}=t,{firstPair:f,length:d}=dm(t);if(b(o.every(m=>m<ye(t)),"rows of another model"),o.forEach((m,g)=>{r({name:Ae,start:2*m,length:2,values:n,at:2*g}),r({name:be,start:c*m,length:c,values:s,at:c*g}),!(m<f||d===0)&&r({name:nr,start:d*(m-f),length:d,values:i,at:d*g})}),b(a.every(m=>m<(l?.nodes??0)),"coordinates of another model"),!l)return;let p=0;a.forEach((m,g)=>{r({name:Xr,start:2*m,length:2,values:u.keys,at:2*g});for(let{part:h,start:_,length:x}of Wi(or(l),m))r({name:Qr(h),start:_,length:x,values:u.values,at:p}),p+=x})}function Ge(t){return t.shape.reduce((e,r)=>e*r,1)}function $t(t){return Ge(t)*(t.dtype==="f16"?2:4)}function uo(t,e="f32"){return Math.max(16,Math.ceil($t({shape:t,dtype:e})/16)*16)}var na=256,sa=65535;function oe(t){let e=Math.ceil(t/sa);return[Math.ceil(t/e),e]}var Te=class{registry;label;#e;#t;#r;#o;#n;#s;#i;constructor(e,r){this.registry=e,this.label=r,this.#e=[],this.#t=[],this.#o=0,this.#n=0,this.#r=e.gpu}add(e){b(!this.#i,`program ${this.label} is already built`);let r=this.#a(e);if(this.#e.push({dispatch:e,kernel:r,paramsOffsetBytes:this.#o}),r.interface.params.length>0){let o=r.interface.params.length*4;this.#o+=Math.ceil(o/na)*na}return this}mark(e){this.#t.push({label:e,end:this.#e.length})}scratch(e){b(!this.#s,`scratch memory of program ${this.label} is already allocated`),this.#n=Math.max(this.#n,e);let r=()=>this.#r.tensor(`${this.label} scratch`,[this.#n]).buffer,o=()=>this.#s??=r();return{label:"scratch",shape:[e],offsetBytes:0,get buffer(){return o()}}}get length(){return this.#e.length}get bytes(){return this.#e.reduce((e,{dispatch:r})=>e+gm(r),0)}run(){let e=this.#r.device.createCommandEncoder({label:this.label});this.encode(e),this.#r.device.queue.submit([e.finish()])}destroy(){this.#i?.uniforms.destroy(),this.#s?.destroy()}runInParts(e){let r=0;for(let{label:o,end:n}of[...this.#t,{label:"",end:this.#e.length}]){let s=this.#r.device.createCommandEncoder({label:`${this.label}: ${o}`});this.encode(s,{start:r,end:n}),e(o,s),this.#r.device.queue.submit([s.finish()]),r=n}}encode(e,{start:r=0,end:o=this.#e.length}={}){let{bindGroups:n}=this.#u(),s=e.beginComputePass({label:this.label});for(let i=r;i<o;i++)Fb(s,this.#e[i],n[i]);s.end()}async profile(){let{device:e}=this.#r,r=[];await this.#r.finish();for(let[o,{dispatch:n,kernel:s}]of this.#e.entries()){let i=e.createCommandEncoder();this.encode(i,{start:o,end:o+1});let a=i.finish(),u=await this.#r.timeS(()=>e.queue.submit([a]));r.push({label:n.label??s.name,calls:1,seconds:u,flops:n.flops??0,bytes:gm(n)})}return this.#r.check(),r}#a(e){let r=this.registry.get(e.kernel,e.overrides,Gb(e));return Vb(r,e),r}#u(){if(this.#i)return this.#i;let{device:e}=this.#r,r=new ArrayBuffer(Math.max(na,this.#o));for(let n of this.#e)Kb(new DataView(r,n.paramsOffsetBytes),n);let o=e.createBuffer({label:`${this.label} params`,size:r.byteLength,usage:GPUBufferUsage.UNIFORM|GPUBufferUsage.COPY_DST});return e.queue.writeBuffer(o,0,r),this.#i={uniforms:o,bindGroups:this.#e.map(n=>Hb(e,n,o))},this.#i}};function Fb(t,{kernel:e,dispatch:r},o){let[n,s=1,i=1]=r.grid;t.setPipeline(e.pipeline),t.setBindGroup(0,o),t.dispatchWorkgroups(n,s,i)}function Hb(t,e,r){let{kernel:o,dispatch:n}=e;return t.createBindGroup({label:n.label??o.name,layout:o.layout,entries:o.interface.bindings.map(({name:s,index:i,access:a})=>{if(a==="uniform"){let c=Math.ceil(o.interface.params.length*4/16)*16;return{binding:i,resource:{buffer:r,offset:e.paramsOffsetBytes,size:c}}}let u=n.bindings[s];return{binding:i,resource:{buffer:u.buffer,offset:u.offsetBytes}}})})}function gm({bindings:t}){let e=Object.values(t),r=({buffer:o,offsetBytes:n},s)=>e.findIndex(i=>i.buffer===o&&i.offsetBytes===n)===s;return e.filter(r).reduce((o,n)=>o+$t(n),0)}function Kb(t,{kernel:e,dispatch:r}){e.interface.params.forEach(({name:o,type:n},s)=>{let i=r.params?.[o]??0;n==="f32"?t.setFloat32(s*4,i,!0):n==="u32"?t.setUint32(s*4,i,!0):t.setInt32(s*4,i,!0)})}function Gb({bindings:t}){return Object.entries(t).flatMap(([e,{dtype:r}])=>r==="f16"?[e]:[])}function Vb(t,e){let r=t.interface.bindings.filter(({access:o})=>o!=="uniform").map(({name:o})=>o);_m(t,"binding",r,Object.keys(e.bindings)),_m(t,"parameter",t.interface.params.map(({name:o})=>o),Object.keys(e.params??{}));for(let o of e.grid)if(o!==void 0&&!(o>=1&&o<=sa&&Number.isInteger(o)))throw new D(t.name,`the grid is [${e.grid}], expected 1 to ${sa} workgroups`)}function _m(t,e,r,o){let n=r.find(i=>!o.includes(i));if(n)throw new D(t.name,`${e} ${n} is missing`);let s=o.find(i=>!r.includes(i));if(s)throw new D(t.name,`${e} ${s} is unknown; known are ${r.join(", ")}`)}function H(t,e,r){for(let[o,n]of Object.entries(e))if(!(n>0&&n%r===0))throw new D(t,`${o} is ${n}, expected a positive multiple of ${r}`)}function S(t,e,r){if(!(e>0&&Number.isInteger(e)))throw new D(t,`the length is ${e}, expected at least 1`);for(let[o,n]of Object.entries(r))if(Ge(n)<e)throw new D(t,`${o} (tensor ${n.label}) has the shape [${n.shape}], expected ${e} elements`)}var Wb=4;function Ot(t,e){let{tokens:r,table:o,x:n,rows:s,width:i}=e,a="embedding_forward";H(a,{width:i},4),S(a,s,{tokens:r}),S(a,s*i,{x:n}),t.add({kernel:a,bindings:{tokens:r,table:o,x:n},params:{rows:s,width:i},grid:oe(s)})}function co(t,e){return e+1+t}function Mn(t,e,{perRow:r=1,numUses:o=t.length}={}){let n=new Uint32Array(co(o,e));for(let i=0;i<t.length;i++)t[i]<e&&n[t[i]+1]++;let s=n[0]=e+1;for(let i=0;i<e;i++){let a=n[i+1];n[i+1]=s,s+=a}for(let i=0;i<t.length;i++)t[i]<e&&(n[n[t[i]+1]++]=Math.floor(i/r));return n}function wm(t,e){let{tokenRows:r,dx:o,dTable:n,rows:s,width:i,vocabSize:a,numUses:u=s}=e,c="embedding_backward";H(c,{width:i},4),S(c,co(u,a),{tokenRows:r}),S(c,s*i,{dx:o}),S(c,a*i,{dTable:n}),t.add({kernel:c,bindings:{token_rows:r,dx:o,d_table:n},params:{width:i},grid:[a,Math.ceil(i/(4*Wb*t.registry.lanes))]})}var ne=9,mt=class{config;#e;#t;#r;coordinates;constructor(e){this.config=e;let{prefixVectors:r,pairVectors:o,coordinates:n}=e;n&&(this.coordinates=new An(n));let s=r?.rows??0;r&&(this.#e=new Tt(0,s)),o&&(this.#t=new Tt(s,o.rows),o.history&&(this.#r=new _n(o.rows)))}load(e){this.#e?.load(B(e,Ae)),this.#t?.load(B(e,Ae)),this.#r?.load(B(e,nr)),this.coordinates?.load(e)}save(e){let r=new Float32Array(2*((this.#e?.numRows??0)+(this.#t?.numRows??0)));this.#e?.save(r),this.#t?.save(r),r.length>0&&e.set(Ae,r),this.#r&&e.set(nr,this.#r.save()),this.coordinates?.save(e)}claim(e,r){for(let o of[e,r])this.rowsOfPrefixes(o,{claims:!0});return this.rowOfPair(e,r,{claims:!0})}remember(e,r){this.#t&&e!==$&&this.#r?.add(e-this.#t.firstRow,r)}selectedRow(e){return(this.#e?.numRows??0)+(this.#t?.numRows??0)+e}get numPrefixes(){return this.#e?.numOwned??0}get numPairs(){return this.#t?.numOwned??0}rowsOfPrefixes(e,{claims:r=!1}={}){let o=[];return this.#n(e,({hash1:n,hash2:s})=>{o.push(this.#e?.row(n,s,r)??$)}),o}rowOfAddress(e,{claims:r=!1}={}){let{hash1:o,hash2:n}=this.#n(e);return this.#e?.row(o,n,r)??$}claimNode(e){return this.nodeOf(e,{claims:!0})}nodeOf(e,{claims:r=!1}={}){let{hash1:o,hash2:n}=this.#n(e);return this.coordinates?.node(o,n,r)??$}rowOfPair(e,r,{claims:o=!1}={}){let{hash1:n,hash2:s}=this.#o(this.#n(e),this.#n(r));return this.#t?.row(n,s,o)??$}prefixRow(e,{isTraining:r,context:o}){let{prefixVectors:n}=this.config;if(!this.#e||!n)return $;let s=1-(1-n.dropShare)**(1/e.length);return r&&En(e.hash2,o,s)&&(e.isDropped=!0),e.isDropped?$:this.#e.row(e.hash1,e.hash2)}pairOf(e,r,{isTraining:o,context:n}){let{hash1:s,hash2:i}=this.#o(e,r),a=this.config.pairVectors?.dropShare??0,[u,c]=[s,i].map(d=>o&&En(d,n,a)),f=e.isDropped||r.isDropped||u||c?$:this.#t?.row(s,i)??$;return{hash1:s,hash2:i,source:e,destination:r,row:f,isUnknown:u}}historyOf({hash1:e,row:r,isUnknown:o},{rttHistory:n,recent:s},i){if(!this.#t||!this.#r)return;if(n!==void 0)return o?void 0:n??void 0;let{timeS:a}=i,u=s??i.rttsOf(e);return s||r===$?yp(u,a):this.#r.rttHistory(r-this.#t.firstRow,{timeS:a,newer:u})}estimateOf({hash1:e,source:r,destination:o},{isTraining:n,context:s}){let{coordinates:i}=this;if(!i)return;let a=[r,o],[u,c]=a.map(({hash1:d,hash2:p})=>i.node(d,p));if(!n)return i.estimate(u,c);let l=En(~e,s,i.config.dropShare),f=a.map(({isDropped:d},p)=>d||l&&(e&1)===p);return i.estimate(u,c,{isTraining:n,hidden:f})}begin(e){return Bp(this.config.prefixVectors?.seed??this.config.pairVectors?.seed??0,e)}#o(e,r){let{prefixVectors:o,pairVectors:n}=this.config,s=o&&n?n.seed-o.seed:0;return Up(e,r,s)}#n(e,r=()=>{}){let o=this.begin(e.length===4?4:16);for(let n of e)kn(o,n),r(o);return o}};var Yb={isTraining:!1,context:0},Jb=3,ht=class t{#e;#t;#r;#o;#n;#s=!1;#i;#a=new wn;constructor(e){this.#e=e}clone(){let e=new t(this.#e);return e.#o=this.#o&&{...this.#o},e.#t=this.#t===this.#o?e.#o:this.#t,e.#r=this.#r===this.#o?e.#o:this.#r,e.#n=this.#n,e.#s=this.#s,e.#i=this.#i,e.#a=this.#a.clone(),e}read(e,r,o,n=Yb){r.fill($,o,o+ne);let s=e>=11&&e<267;if(n.rttHistory===void 0&&this.#a.read(e),s&&this.#s&&(this.#f(r,o),this.#i&&this.#l(r,o,Yp(this.#i,e-11))),this.#s=e===8,s){this.#o&&(r[o]=this.#c(this.#o,e-11,n));return}switch(this.#o=void 0,e){case 0:this.#a.end(this.#n?.hash1),this.#t=this.#r=this.#n=void 0;break;case 1:case 2:this.#o=this.#t=this.#u(e===1?4:16);break;case 3:case 4:this.#o=this.#r=this.#u(e===3?4:16);break;case 8:this.#i=this.#n&&(this.#e.historyOf(this.#n,n,this.#a)??this.#e.estimateOf(this.#n,n)),this.#f(r,o),this.#i&&this.#l(r,o,Wp(this.#i))}}#u(e){return this.#n=void 0,this.#e.begin(e)}#c(e,r,o){kn(e,r);let n=this.#e.prefixRow(e,o);n!==$&&(e.row=n),e.isWhole&&(this.#o=void 0);let[s,i]=[this.#t,this.#r];return s?.isWhole&&i?.isWhole&&(this.#n=this.#e.pairOf(s,i,o)),n}#l(e,r,o){o.forEach((n,s)=>e[r+Jb+s]=this.#e.selectedRow(n))}#f(e,r){let[o,n]=[this.#t,this.#r];e[r+2]=this.#n?.row??$,!(e[r+2]!==$||this.#i&&!Xb(this.#i))&&(o?.isWhole&&(e[r]=o.row),n?.isWhole&&(e[r+1]=n.row))}};function Xb(t){return"isOfBoth"in t&&!t.isOfBoth}function Mt(t,{batchSize:e,sequenceLength:r,sequencesPerStep:o=e,freeRows:n}){return n??Math.min(ye(t),o*r)}function lo({batchSize:t,sequenceLength:e}){return t*2*e}function fo({tokens:t,segmentStart:e,histories:r},o,{sequenceLength:n,isTraining:s}){let i=new Uint32Array(t.length*ne),a=new ht(o),u=0;for(let c=0;c<t.length;c++){c%n===e[c]&&(a=new ht(o),s&&(u=Qb(t,e,c,n)));let l=r&&t[c]===8?hp(r,c*dn):void 0,f=r||s?l??null:void 0;a.read(t[c],i,c*ne,{isTraining:s,context:u,rttHistory:f})}return i}function Qb(t,e,r,o){let n=r-r%o+o,s=0;for(let i=r;i<n&&e[i]===e[r];i++)s=Se(s+t[i]);return s}var In=class{numSlots;numUses;isFixed;#e;constructor(e,r,o=!1){this.numSlots=e,this.numUses=r,this.isFixed=o,this.#e=new Map,this.clear()}clear(){if(this.#e.clear(),!!this.isFixed)for(let e=0;e<this.numSlots;e++)this.#e.set(e,e)}get rows(){let e=new Uint32Array(1+this.numSlots);e[0]=this.#e.size;for(let[r,o]of this.#e)e[1+o]=r;return e}get size(){return this.#e.size}claim(e){if(!this.isFixed)for(let r of e)r!==$&&!this.#e.has(r)&&this.#e.set(r,this.#e.size)}places(e){this.claim(e);let r=e.map(o=>o===$?$:this.#e.get(o)??$);return Mn(r,this.numSlots,{perRow:ne,numUses:this.numUses})}};function xm(t,e,r){return{tokens:Pt(t.tokens,e,r),targets:Pt(t.targets,e,r),lossMask:Pt(t.lossMask,e,r),segmentStart:Pt(t.segmentStart,e,r),...t.histories?{histories:Pt(t.histories,e,r)}:{}}}function Pt(t,e,{rank:r,size:o}){let n=t.length/e,s=t.slice(0,t.length/o);for(let i=r,a=0;i<e;i+=o,a+=n)s.set(t.subarray(i*n,(i+1)*n),a);return s}function ym({tokens:t,lossMask:e,segmentStart:r},o){let n=e.slice();for(let s=t.indexOf(8);s>=0;s=t.indexOf(8,s+1)){let i=s+1;n[s]&&(n[s]=2),n[i]&&i%o!==r[i]&&(n[i]=3)}return n}var ev=64*8*4;function It(t){return oe(Math.ceil(t/ev))}function bm(t,e){let{x:r,y:o,length:n}=e,s="copy";H(s,{length:n},4),S(s,n,{x:r,y:o}),t.add({kernel:s,bindings:{x:r,y:o},params:{length:n},grid:It(n)})}var po=8;function vm(t){let{learningRate:e,beta1:r,beta2:o,epsilon:n,weightDecay:s,step:i}=t;return Float32Array.of(e,r,o,n,s,1-r**i,1-o**i,0)}function Sm(t,e){let{parameter:r,gradient:o,expAvg:n,expAvgSq:s,hyper:i,clip:a,length:u}=e,c="adamw";H(c,{length:u},4),S(c,u,{parameter:r,gradient:o,expAvg:n,expAvgSq:s}),S(c,po,{hyper:i}),S(c,1,{clip:a}),t.add({kernel:c,bindings:{gradient:o,hyper:i,clip:a,parameter:r,exp_avg:n,exp_avg_sq:s},params:{length:u},grid:It(u)})}function km(t,e){let{indexes:r,table:o,x:n,rows:s,rowsPerToken:i,tableRows:a,width:u}=e,c="add_rows";H(c,{width:u},4),S(c,s*i,{indexes:r}),S(c,a*u,{table:o}),S(c,s*u,{x:n}),t.add({kernel:c,overrides:{ROWS_PER_TOKEN:i},bindings:{indexes:r,table:o,x:n},params:{rows:s,width:u,table_rows:a},grid:oe(s)})}function Em(t,e){let{slotRows:r,gradient:o,parameter:n,expAvg:s,expAvgSq:i,numUpdates:a,hyper:u,clip:c,slots:l,width:f}=e,d="adamw_rows";H(d,{width:f},4),S(d,1+l,{slotRows:r}),S(d,l*f,{gradient:o}),S(d,a.shape[0]*f,{parameter:n,expAvg:s,expAvgSq:i}),S(d,po,{hyper:u}),S(d,1,{clip:c}),t.add({kernel:d,bindings:{slot_rows:r,gradient:o,hyper:u,clip:c,parameter:n,exp_avg:s,exp_avg_sq:i,num_updates:a},params:{width:f,slots:l},grid:oe(l)})}function Am(t,e){let{table:r,anchors:o,limits:n,rows:s,width:i}=e,a="limit_rows";H(a,{width:i},4),S(a,s*i,{table:r,anchors:o}),S(a,s,{limits:n}),t.add({kernel:a,bindings:{anchors:o,limits:n,table:r},params:{rows:s,width:i},grid:oe(s)})}var Tm=2**48;function zm(t,e=1/0){for(let r=0;r<t.length;r++)if(!(Math.abs(t[r])<e))return r;return-1}function $m(t,e=1/0){for(let[r,o]of t){let n=zm(o,e);if(n<0)continue;let s=e===1/0?"a finite number":`a magnitude below ${e.toExponential(1)}`;return`element ${n} of tensor ${r} is ${o[n]}, expected ${s}`}}function Om(t,e){let r=zm(t),o=e.find(s=>!(s>0));if(r<0&&o===void 0)return;let n=r<0?`a hidden state of scale ${o}`:`a log-probability of ${t[r]}`;throw new y(`Cannot use the model: found ${n}, as when weights are too large for float32, expected finite numbers; use an earlier checkpoint or another run`)}var Pm=[32,64,128],aa={subgroup8:1024,tiled:2048};function Mm(t,e){let{q:r,k:o,v:n,segmentStart:s,out:i,logSumExp:a}=e,u=mo(t.registry.gpu.info);Rm(`attention_forward_${u}`,e,{q:r,k:o,v:n,out:i},{logSumExp:a},s),t.add({kernel:`attention_forward_${u}`,bindings:{q:r,k:o,v:n,segment_start:s,out:i,log_sum_exp:a},...ia(e,u)})}function Im(t,e){let{q:r,k:o,v:n,out:s,dOut:i,logSumExp:a,segmentStart:u,dq:c,dk:l,dv:f,delta:d}=e,p=mo(t.registry.gpu.info);Rm(`attention_backward_query_${p}`,e,{q:r,k:o,v:n,out:s,dOut:i,dq:c,dk:l,dv:f},{logSumExp:a,delta:d},u);let m={q:r,k:o,v:n,d_out:i,log_sum_exp:a,segment_start:u,delta:d};t.add({kernel:`attention_backward_query_${p}`,bindings:{...m,out:s,dq:c},...ia(e,p)}),t.add({kernel:`attention_backward_key_${p}`,bindings:{...m,dk:l,dv:f},...ia(e,p)})}function mo(t){return t.subgroupSize===8?"subgroup8":"tiled"}function ua(t,e){if(!Pm.includes(e))throw new D(t,`headDim is ${e}, expected one of ${Pm.join(", ")}`)}function ia({batchSize:t,sequenceLength:e,numHeads:r,headDim:o},n){let s={sequence_length:e,num_heads:r};return{overrides:{HEAD_DIM:o},params:n==="subgroup8"?{...s,slot_parts:32}:{...s,slice_parts:8,tile_rows:512/o},grid:[Math.ceil(e*o/aa[n]),r,t]}}function Rm(t,{batchSize:e,sequenceLength:r,numHeads:o,headDim:n},s,i,a){ua(t,n);let u=e*r;S(t,u,{segmentStart:a}),S(t,u*o,i),S(t,u*o*n,s)}var tv={relu2:0,gelu:1,silu:2},rv={kernel:"gemm_subgroup8",overrides:{},tile:32},ca={kernel:"gemm_tiled",overrides:{TILE:64},tile:64},ov={kernel:"gemm_tiled",overrides:{TILE:128},tile:128},nv=256,Nm=16,Lm=0;function Cm(t,e){return t.subgroupSize===8?rv:!t.isSoftware&&e.m*e.n>=nv*128*128?ov:ca}var sv={enoughWorkgroups:256,minSplitK:512,maxSplits:16};function iv(t,e){let{kernel:r}=Cm(t,e);return t.isSoftware||r!=="gemm_tiled"||e.kind!=="TN"?1:av(e)}function av({m:t,n:e,k:r},{enoughWorkgroups:o,minSplitK:n,maxSplits:s}=sv){let i=Math.ceil(t/ca.tile)*Math.ceil(e/ca.tile);return Math.max(1,Math.min(Math.floor(o/i),Math.floor(r/n),s))}function ho(t,e){let{kind:r,m:o,n,k:s,batch:i=1,a,b:u,c,epilogue:l="store",symmetric:f=!1}=e,{info:d}=t.registry.gpu,{kernel:p,tile:m,overrides:g}=e.variant??Cm(d,e);if(H(p,r==="TN"?{m:o,n}:{n,k:s},4),f&&o!==n)throw new D(p,`a product of ${o} x ${n} cannot be symmetric`);S(p,i*o*s,{a}),S(p,i*s*n,{b:u}),S(p,i*o*n,{c});let{code:h,read:_,written:x,activation:A}=uv(l);for(let q of[_,x])if(q&&(S(p,i*o*n,{[q.label]:q}),q.buffer===c.buffer))throw new D(p,`${q.label} is in the buffer of c; to add to c use "accumulate"`);let M=typeof l=="string"&&i===1,k=e.splits??(M&&!e.variant?iv(d,e):1),I=Math.ceil(s/k/Nm)*Nm;if(k>1&&!(M&&p==="gemm_tiled"&&I*(k-1)<s))throw new D(p,`cannot divide k into ${k} splits here`);let L=k>1?t.scratch(k*o*n):c,G=e.label??`gemm ${r}`;t.add({kernel:p,label:G,overrides:{...g,TRANSPOSE_A:+(r==="TN"),TRANSPOSE_B:+(r==="NT"),ACTIVATION:A},bindings:{a,b:u,d:_??{...a,dtype:c.dtype},c:L,e:x??{...t.registry.unusedOutput,dtype:c.dtype}},params:{m:o,n,k:s,epilogue:k>1?Lm:h,stride_a:o*s/4,stride_b:s*n/4,stride_c:o*n/4,symmetric:Number(f),...p==="gemm_tiled"?{splits:k,split_k:I}:{}},grid:[Math.ceil(n/m),Math.ceil(o/m),i*k],flops:i*(f?o+1:2*o)*n*s}),k!==1&&t.add({kernel:"sum_splits",label:`${G}, sum of splits`,bindings:{partials:L,c},params:{length:o*n,splits:k,accumulate:+(l==="accumulate")},grid:It(o*n)})}function uv(t){if(t==="store")return{code:Lm,activation:0};if(t==="accumulate")return{code:1,activation:0};if("add"in t)return{code:2,read:t.add,activation:0};if("gram"in t)return{code:6,read:t.gram,activation:0};let e=tv[t.activation];return"slopeAt"in t?{code:5,read:t.slopeAt,activation:e}:t.before?{code:4,written:t.before,activation:e}:{code:3,activation:e}}var cv=64,lv=1e4,Dm=new WeakMap;function la(t,e){let{x:r,y:o,scale:n,rotation:s=Rn(t,e)}=e,i="qk_norm_rope_forward";Bm(i,e,{x:r,y:o},n),S(i,e.sequenceLength*e.headDim,{rotation:s}),t.add({kernel:i,bindings:{x:r,rotation:s,y:o,scale:n},...Zm(e)})}function fa(t,e){let{x:r,scale:o,dy:n,dx:s}=e,i="qk_norm_rope_backward";Bm(i,e,{x:r,dy:n,dx:s},o);let a=Rn(t,e);t.add({kernel:i,bindings:{x:r,scale:o,rotation:a,dy:n,dx:s},...Zm(e)})}function Bm(t,{rows:e,numHeads:r,headDim:o,sequenceLength:n},s,i){H(t,{headDim:o},8),H(t,{sequenceLength:n},1),S(t,e*r,{scale:i}),S(t,e*r*o,s)}function Zm({rows:t,numHeads:e,headDim:r,sequenceLength:o,norm:n}){return{overrides:{NORM:Number(n)},params:{num_heads_total:t*e,num_heads:e,head_dim:r,sequence_length:o},grid:oe(Math.ceil(t*e/cv))}}function Rn(t,{headDim:e,sequenceLength:r}){let{registry:o}=t,n=Dm.get(o)??new Map;Dm.set(o,n);let s=`${r} x ${e}`,i=n.get(s);if(!i){let a=fv(r,e);i=o.gpu.tensorFrom(`rotations ${s}`,[r,e/8,2,4],a),n.set(s,i)}return i}function fv(t,e){let r=new Float32Array(t*e);for(let o=0;o<t;o++)for(let n=0;n<e/2;n++){let s=o*lv**(-n/(e/2)),i=o*e+Math.floor(n/4)*8+n%4;r[i]=Math.cos(s),r[i+4]=Math.sin(s)}return r}var dv=4;function Nn(t,e){let{x:r,y:o,scale:n,rows:s,width:i}=e,a="rms_norm_forward";H(a,{width:i},4),S(a,s*i,{x:r,y:o}),S(a,s,{scale:n}),t.add({kernel:a,bindings:{x:r,y:o,scale:n},params:{rows:s,width:i},grid:oe(s)})}function Um(t,e){let{x:r,scale:o,dy:n,dx:s,rows:i,width:a,accumulate:u}=e,c="rms_norm_backward";H(c,{width:a},4),S(c,i*a,{x:r,dy:n,dx:s}),S(c,i,{scale:o}),t.add({kernel:c,bindings:{x:r,scale:o,dy:n,dx:s},params:{rows:i,width:a,accumulate:Number(u)},grid:oe(Math.ceil(i/dv))})}function qm(t,e){let{x:r,earlier:o,previous:n,y:s}=e,i="shift_keys_forward";Fm(i,e,{x:r,y:s},n),t.add({kernel:i,bindings:{x:r,earlier:o,previous:n,y:s},...Hm(e)})}function jm(t,e){let{dy:r,previous:o,dx:n}=e,s="shift_keys_backward";Fm(s,e,{dy:r,dx:n},o),t.add({kernel:s,bindings:{dy:r,previous:o,dx:n},...Hm(e)})}function Ln(t,e){return Uint32Array.from(t,(r,o)=>o%e>r?o-1:o)}function Fm(t,{rows:e,numHeads:r,headDim:o},n,s){H(t,{headDim:o},16),S(t,e,{previous:s}),S(t,e*r*o,n)}function Hm({rows:t,numHeads:e,headDim:r}){let o=e*r/4;return{params:{num_vec4:t*o,row_vec4:o,quarter_vec4:r/16},grid:It(t*o*4)}}function Rt(t,{extent:e,tensors:r},{name:o,label:n,...s}){let{x:i,y:a,epilogue:u="store"}=s,c=B(r.operands,o),[l,f]=c.shape,d=e.batchSize*e.sequenceLength;ho(t,{kind:"NT",m:d,n:l,k:f,a:i,b:c,c:a,epilogue:u,label:n})}function Km(t,{parameters:e,operands:r}){for(let[o,n]of e){let s=B(r,o);s!==n&&bm(t,{x:n,y:s,length:Ge(n)})}}function ar(t,e){let{config:r,extent:o,tensors:n,wanted:s}=e,{layers:i,head:a,inputs:u,operands:c}=n,l=o.batchSize*o.sequenceLength,f=r.width,d=B(c,"wte.weight");Ot(t,{tokens:u.tokens,table:d,x:i[0].x,rows:l,width:f}),u.embeddingRows&&km(t,{indexes:u.embeddingRows,table:B(c,"address_embed.weight"),x:i[0].x,rows:l,rowsPerToken:ne,tableRows:ye(r),width:f});for(let m=0;m<r.numLayers;m++){let g=m===r.numLayers-1;Vm(t,e,m);let h=s&&g?pv(t,e,s):e;Wm(t,h,m),Jm(t,h,m),mv(t,h,{layer:m,out:g?a.xLast:i[m+1].x})}let p=s?.rows??l;Nn(t,{x:a.xLast,y:a.xLastNorm,scale:a.xLastScale,rows:p,width:f})}function pv(t,e,r){let{config:o,tensors:n,rotation:s}=e,{rows:i,index:a}=r,u=n.layers[o.numLayers-1];if(!s)throw new Error("Internal error: wanted rows need a pass with a rotation");let c=(f,d,p)=>Ot(t,{tokens:a,table:f,x:d,rows:i,width:p});c(u.x,r.x,o.width),c(u.xNorm,r.xNorm,o.width),c(s,r.rotation,o.headDim);let l=n.layers.with(-1,{...u,x:r.x,xNorm:r.xNorm});return{config:o,extent:{batchSize:1,sequenceLength:i,training:!1},tensors:{...n,layers:l},rotation:r.rotation,addAttention:r.addAttention}}function da(t,e){let{numHeads:r,headDim:o}=t;return{batchSize:e.batchSize,sequenceLength:e.sequenceLength,numHeads:r,headDim:o}}function Cn(t,e){let{numHeads:r,headDim:o,qkNorm:n}=t;return{rows:e.batchSize*e.sequenceLength,numHeads:r,headDim:o,sequenceLength:e.sequenceLength,norm:n}}function Gm(t,e,r){Vm(t,e,r),Wm(t,e,r),Jm(t,e,r)}function Vm(t,e,r){let{config:o,extent:n,tensors:s,rotation:i}=e,a=s.layers[r],u=n.batchSize*n.sequenceLength;Nn(t,{x:a.x,y:a.xNorm,scale:a.xScale,rows:u,width:o.width});for(let f of["k","v"])Ym(t,e,{layer:r,part:f});let c={...Cn(o,n),...i?{rotation:i}:{}},{kUnshifted:l=a.kRotated}=a;la(t,{x:a.k,y:l,scale:a.kScale,...c}),a.kUnshifted&&s.inputs.previous&&qm(t,{x:a.kUnshifted,earlier:e.earlierKeys?.(r)??a.kUnshifted,previous:s.inputs.previous,y:a.kRotated,rows:u,numHeads:o.numHeads,headDim:o.headDim})}function Wm(t,e,r){let{config:o,extent:n,tensors:s,rotation:i}=e,a=s.layers[r];Ym(t,e,{layer:r,part:"q"});let u={...Cn(o,n),...i?{rotation:i}:{}};la(t,{x:a.q,y:a.qRotated,scale:a.qScale,...u}),e.addAttention?e.addAttention(t,r):Mm(t,{q:a.qRotated,k:a.kRotated,v:a.v,segmentStart:s.inputs.segmentStart,out:a.attention,logSumExp:a.logSumExp,...da(o,n)}),Rt(t,e,{name:`blocks.${r}.attn.o_proj.weight`,x:a.attention,y:a.xMiddle,epilogue:{add:a.x},label:"o_proj"})}function Ym(t,e,{layer:r,part:o}){let{xNorm:n,[o]:s}=e.tensors.layers[r],i=`blocks.${r}.attn.${o}_proj.weight`;Rt(t,e,{name:i,x:n,y:s,label:"qkv_proj"})}function Jm(t,e,r){let{config:{width:o,activation:n},extent:s,tensors:i}=e,{xMiddle:a,xMiddleNorm:u,xMiddleScale:c,hidden:l,activated:f}=i.layers[r],d=s.batchSize*s.sequenceLength;Nn(t,{x:a,y:u,scale:c,rows:d,width:o}),Rt(t,e,{name:`blocks.${r}.mlp.up_proj.weight`,x:u,y:f,epilogue:{activation:n,...l?{before:l}:{}},label:"up_proj"})}function mv(t,e,{layer:r,out:o}){let{xMiddle:n,activated:s}=e.tensors.layers[r],i=`blocks.${r}.mlp.down_proj.weight`;Rt(t,e,{name:i,x:s,y:o,epilogue:{add:n},label:"down_proj"})}var hv={initial:2**15,min:1,max:2**24,growthSteps:500};function Xm({initial:t}=hv){return Float32Array.of(t,0)}var gv=4096,_v=256,pa="reduce_partials";function eh(t){return Math.min(_v,Math.ceil(t/gv))}function th(t,e){let{x:r,length:o,out:n,accumulate:s=!1}=e;S(pa,o,{x:r});let i=eh(o);if(i===1)return Qm(t,{x:r,length:o,out:n,accumulate:s});let a=t.registry.gpu.tensor("partial sums",[i]);rh(t,{label:"sum",isSum:!0,x:r,length:o,out:a,numPartials:i}),Qm(t,{x:a,length:i,out:n,accumulate:s})}function Qm(t,e){S(pa,1,{out:e.out}),rh(t,{label:"sum",isSum:!0,...e})}function rh(t,e){let{label:r,isSum:o=!1,x:n,length:s,out:i,first:a=0,numPartials:u=1,count:c=1,accumulate:l=!1}=e;t.add({kernel:pa,label:r,overrides:{SQUARE:+!o},bindings:{x:n,partials:i},params:{length:s,first:a,num_partials:u,accumulate:Number(l)},grid:[...oe(u),c]})}function oh(t,e){let{logits:r,targets:o,lossMask:n,losses:s,weight:i,dLogits:a,lossScale:u,ordinal:c,teacher:l}=e,{markedWeight:f=1,rows:d,vocabSize:p,stride:m,softcap:g}=e,h="cross_entropy";nh(h,e),S(h,d,{targets:o,lossMask:n,losses:s}),S(h,d*m,{logits:r,...a?{dLogits:a}:{},...l?{teacherLogits:l.logits}:{}}),S(h,1,{weight:i,...u?{lossScale:u}:{}}),t.add({kernel:h,overrides:{SOFTCAP:+(g!==null),GRADIENT:+(a!==void 0),SCALED:+(u!==void 0),TAUGHT:+(l!==void 0)},bindings:{logits:r,targets:o,loss_mask:n,weight:i,losses:s,d_logits:a??t.registry.unusedOutput,loss_scale:u??i,teacher_logits:l?.logits??r},params:{rows:d,vocab_size:p,stride:m,softcap:g??0,first_byte:c?.firstByte??0,ordinal_2:c?.weights[0]??0,ordinal_3:c?.weights[1]??0,marked_weight:f,teacher_weight:l?.weight??0,teacher_softcap:l?.softcap??0},grid:oe(d)})}function ma(t,e){let{logits:r,rowIndex:o,out:n,numRows:s,vocabSize:i,stride:a,softcap:u}=e,c="log_probabilities";nh(c,e),S(c,a,{logits:r}),S(c,s,{rowIndex:o}),S(c,s*i,{out:n}),t.add({kernel:c,overrides:{SOFTCAP:+(u!==null)},bindings:{logits:r,row_index:o,out:n},params:{num_rows:s,vocab_size:i,stride:a,softcap:u??0},grid:oe(s)})}function nh(t,{vocabSize:e,stride:r,softcap:o}){if(H(t,{stride:r},4),H(t,{vocabSize:e},1),e>r)throw new D(t,`vocabSize is ${e}, expected at most the stride ${r}`);if(o!==null&&!(o>0))throw new D(t,`softcap is ${o}, expected a positive number or null`)}var wv={};function ur(t,e){return(r,o,n)=>t(e+r,o,n)}function go(t){return ha(t).reduce((e,{sizeBytes:r})=>e+r,0)}function cr(t){return ha(t).reduce((e,{sizeBytes:r})=>Math.max(e,r),0)}function ha(t){let e=[];return t((r,o,n)=>(e.push({label:r,sizeBytes:uo(o,n)}),wv)),e}function Nt({limits:t}){return Math.min(t.maxBufferSize,t.maxStorageBufferBindingSize)}async function Dn(t,e,r){let o=Nt(t.device),n=ha(e).find(({sizeBytes:i})=>i>o);if(n)throw sh(`${n.label} takes ${it(n.sizeBytes)}`,`${it(o)} a buffer`,r);t.device.pushErrorScope("out-of-memory");let s=e((i,a,u)=>t.tensor(i,a,u));if(await t.device.popErrorScope()){let i=`${r.what} takes ${it(go(e))}`;throw sh(i,"what the GPU has free",r)}return s}function it(t){return`${Math.ceil(t/2**20).toLocaleString("en")} MiB`}function sh(t,e,{what:r,remedy:o}){return new y(`Cannot allocate ${r}: ${t}, expected at most ${e}; ${o}`)}function ih(t,e,r){let{batchSize:o,sequenceLength:n,training:s,dtype:i,freeRows:a}=e,u=[o,n],c=ye(t)>0,l=Mt(t,e),f=co(lo(e),l),d=co(o*n,K(t));return{tokens:r("tokens",u),targets:r("targets",u),lossMask:r("lossMask",u),segmentStart:r("segmentStart",u),previous:t.keyShift?r("previous",u):void 0,tokenRows:s&&a===void 0?r("token rows",[d]):void 0,embeddingRows:c?r("rows of tokens",[o,n,ne]):void 0,rowPlaces:c&&s?r("tokens of slots",[f]):void 0,slotRows:c&&s?r("rows of slots",[1+l]):void 0,weight:r("weight",[1]),lossScale:s&&i==="f16"?r("loss scale",[2]):void 0}}function ah(t,e,r){let{extent:o,batch:n,weight:s}=r,i=K(r.config),{batchSize:a,sequenceLength:u}=o,c={...n,lossMask:ym(n,u)};for(let l of["tokens","targets","lossMask","segmentStart"]){let f=new Uint32Array(c[l]);b(f.length===a*u,`${l} has ${f.length} elements`),(l==="tokens"||l==="targets")&&b(f.every(d=>d<i),`${l} has a token that is not below ${i}`),t.write(e[l],f)}if(e.previous&&t.write(e.previous,Ln(n.segmentStart,u)),e.tokenRows&&t.write(e.tokenRows,Mn(n.tokens,i)),e.embeddingRows&&r.rows){let{ofTokens:l,places:f,ofSlots:d}=r.rows;t.write(e.embeddingRows,l),e.rowPlaces&&f&&t.write(e.rowPlaces,f),e.slotRows&&d&&t.write(e.slotRows,d)}t.write(e.weight,Float32Array.of(s))}function Lt(t){return Math.ceil(K(t)/4)*4}function ga(t,e,r){let o=[],n=(c,l,f)=>{let d=r(c,l,f);return o.push(d),d},s=e.batchSize*e.sequenceLength,i=xv(t,e,n),a=Ct(t,n),{dtype:u}=e;return{parameters:a,operands:lh(t,{parameters:a,dtype:u},n),gradients:e.training?ch(t,e,ur(n,"d ")):new Map,inputs:ih(t,e,n),layers:i,head:{xLast:e.training?n("xLast",[s,t.width]):i[0].x,xLastNorm:n("xLastNorm",[s,t.width],u),xLastScale:n("xLastScale",[s]),logits:n("logits",[s,Lt(t)]),losses:n("losses",[s])},backward:e.training?yv(t,{rows:s,dtype:u},n):void 0,lossSum:n("lossSum",[1]),all:o}}function _a(t){return new Map([...zn(t)].map(([e,[r,o]])=>[e,[e==="lm_head.weight"?Lt(t):r,o]]))}function Ct(t,e){return new Map([..._a(t)].map(([r,o])=>[r,e(r,o)]))}function ch(t,e,r){let o=()=>["address_embed.weight",r("address_embed.weight",[Mt(t,e),t.width])];return e.freeRows!==void 0?new Map([o()]):new Map([..._a(t)].map(([n,s])=>n==="address_embed.weight"?o():[n,r(n,s)]))}function lh(t,{parameters:e,dtype:r},o){if(r!=="f16")return e;let n=new Map(e);for(let[s,i]of _a(t))s!=="wte.weight"&&s!=="address_embed.weight"&&n.set(s,o(`${s} in f16`,i,r));return n}function xv(t,e,r){let o=e.batchSize*e.sequenceLength,{training:n,dtype:s}=e,i=uh(t,{rows:o,training:n,dtype:s},ur(r,"layer 0 "));return t.keyShift&&(i.kUnshifted=r("kUnshifted",[o,t.numHeads*t.headDim],s)),Array.from({length:t.numLayers},(a,u)=>{if(u===0||!n)return i;let c=ur(r,`layer ${u} `);return e.checkpointActivations?{...i,x:c("x",[o,t.width])}:{...uh(t,{rows:o,training:n,dtype:s},c),kUnshifted:i.kUnshifted}})}function uh(t,e,r){let o=[e.rows,t.numHeads*t.headDim];return{...wa(t,e,r),kRotated:r("kRotated",o,e.dtype),kUnshifted:void 0,v:r("v",o,e.dtype)}}function wa(t,{rows:e,training:r,dtype:o},n){let{width:s,mlpWidth:i,numHeads:a}=t,u=a*t.headDim;return{x:n("x",[e,s]),xNorm:n("xNorm",[e,s],o),xScale:n("xScale",[e]),q:n("q",[e,u],o),k:n("k",[e,u],o),qScale:n("qScale",[e,a]),kScale:n("kScale",[e,a]),qRotated:n("qRotated",[e,u],o),attention:n("attention",[e,u],o),logSumExp:n("logSumExp",[e,a]),xMiddle:n("xMiddle",[e,s]),xMiddleNorm:n("xMiddleNorm",[e,s],o),xMiddleScale:n("xMiddleScale",[e]),hidden:r?n("hidden",[e,i],o):void 0,activated:n("activated",[e,i],o)}}function yv(t,{rows:e,dtype:r},o){let{width:n,mlpWidth:s,numHeads:i}=t,a=i*t.headDim;return{dLogits:o("dLogits",[e,Lt(t)],r),dx:o("dx",[e,n]),dNorm:o("dNorm",[e,n],r),dHidden:o("dHidden",[e,s],r),dAttention:o("dAttention",[e,a],r),dqRotated:o("dqRotated",[e,a],r),dkRotated:o("dkRotated",[e,a],r),dkUnshifted:t.keyShift?o("dkUnshifted",[e,a],r):void 0,dq:o("dq",[e,a],r),dk:o("dk",[e,a],r),dv:o("dv",[e,a],r),delta:o("delta",[e,i])}}function xa(t,{config:e,extent:r,tensors:o,teacher:n}){let{head:s,inputs:i,backward:a}=o,{rttDistanceWeights:u,rttByteWeight:c}=r,l=r.batchSize*r.sequenceLength;Rt(t,{extent:r,tensors:o},{...fh,x:s.xLastNorm,y:s.logits}),oh(t,{logits:s.logits,targets:i.targets,lossMask:i.lossMask,losses:s.losses,weight:i.weight,lossScale:i.lossScale,markedWeight:c,rows:l,...ya(e),...a?{dLogits:a.dLogits,teacher:n}:{},...u?{ordinal:{firstByte:11,weights:u}}:{}})}function ya(t){return{vocabSize:K(t),stride:Lt(t),softcap:t.softcap}}var fh={name:"lm_head.weight",label:"lm_head"};function dh(t,e){let{config:r,hiddenStates:o,operands:n,tensors:s,rows:i}=e,{positions:a,picked:u,logits:c,rowIndex:l,logProbabilities:f}=s;Ot(t,{tokens:a,table:o,x:u,rows:i,width:r.width}),Rt(t,{extent:{batchSize:1,sequenceLength:i,training:!1},tensors:{operands:n}},{...fh,x:u,y:c}),ma(t,{logits:c,rowIndex:l,out:f,numRows:i,...ya(r)})}async function ph(t,{config:e,logits:r,positions:o}){let{gpu:n}=t,s=o.length,i=n.tensorFrom("chosen rows",[s],o),a=n.tensor("log-probabilities",[s,K(e)]),u=new Te(t,"log-probabilities");ma(u,{logits:r,rowIndex:i,out:a,numRows:s,...ya(e)}),u.run();let[c]=await n.read(a);for(let{buffer:l}of[i,a])l.destroy();return c}function bv(t,e){let r=0,o=t;for(;o-r>1;){let n=Math.floor((r+o)/2);e(n)?r=n:o=n}return r}function vv(t){return t>0?`set train.microBatchSize to ${t} or less`:"choose a smaller model"}async function mh(t,e,r){let o=Nt(t.device),n=s=>cr(i=>ga(e,{...r,batchSize:s},i))<=o;return await Dn(t,s=>ga(e,r,s),{what:"the model",remedy:n(r.batchSize)?"lower train.microBatchSize or set train.checkpointActivations":vv(bv(r.batchSize,n))})}function Bn(t,e,{parameters:r,weights:o}){let n=$n(e);for(let s of o.keys())if(!n.has(s))throw ba(`a weight ${s}`,"none of that name");for(let[s,[i,a]]of n){let u=o.get(s);if(!u)throw ba(`no weight ${s}`,`one of shape [${i}, ${a}]`);if(u.length!==i*a)throw ba(`${u.length} values of ${s}`,`a shape of [${i}, ${a}]`);let c=r.get(s);c&&t.write(c,u)}}async function hh(t,e,r){let o=await t.read(...r.values()),n=K(e);return new Map([...r].map(([s,i],a)=>{let c=s.startsWith("lm_head.weight")?n*e.width:Ge(i);return[s,o[a].slice(0,c)]}))}function ba(t,e){return new y(`Cannot load the weights: found ${t}, expected ${e}; use the configuration they were trained with`)}function Sv(t,e){let{config:r,extent:o,tensors:n}=e,{backward:s,head:i,gradients:a,inputs:u}=n;b(s,"a model without training has no backward pass");let c=o.batchSize*o.sequenceLength,l=r.width;_o(t,e,{name:"lm_head.weight",dy:s.dLogits,x:i.xLastNorm,dx:s.dNorm}),t.mark("lm_head."),va(t,e,{x:i.xLast,scale:i.xLastScale,backward:s,accumulate:!1});for(let d=r.numLayers-1;d>=0;d--)o.checkpointActivations&&d<r.numLayers-1&&Gm(t,e,d),kv(t,e,{layer:d,backward:s}),Ev(t,e,{layer:d,backward:s}),t.mark(`blocks.${d}.`);let f=[{name:"wte.weight",tokenRows:u.tokenRows,vocabSize:K(r),numUses:c},{name:"address_embed.weight",tokenRows:u.rowPlaces,vocabSize:Mt(r,o),numUses:lo(o)}];for(let{name:d,tokenRows:p,...m}of f){if(!p)continue;let g=B(a,d);wm(t,{tokenRows:p,dx:s.dx,dTable:g,rows:c,width:l,...m})}}function _o(t,{extent:e,tensors:r},o){let{name:n,dy:s,x:i,dx:a,epilogue:u="store"}=o,c=B(r.operands,n),[l,f]=c.shape,d=e.batchSize*e.sequenceLength,p=n.replace(/^blocks\.\d+\.\w+\.|\.weight$/g,"");ho(t,{kind:"NN",m:d,n:f,k:l,a:s,b:c,c:a,epilogue:u,label:`${p} dx`});let m=r.gradients.get(n);m&&ho(t,{kind:"TN",m:l,n:f,k:d,a:s,b:i,c:m,epilogue:"accumulate",label:`${p} dW`})}function kv(t,e,{layer:r,backward:o}){let{xMiddle:n,xMiddleNorm:s,xMiddleScale:i,hidden:a,activated:u}=e.tensors.layers[r];b(a,"a model without training keeps no argument of the activation"),_o(t,e,{name:`blocks.${r}.mlp.down_proj.weight`,dy:o.dx,x:u,dx:o.dHidden,epilogue:{activation:e.config.activation,slopeAt:a}}),_o(t,e,{name:`blocks.${r}.mlp.up_proj.weight`,dy:o.dHidden,x:s,dx:o.dNorm}),va(t,e,{x:n,scale:i,backward:o,accumulate:!0})}function Ev(t,e,{layer:r,backward:o}){let{config:n,extent:s,tensors:i}=e,a=i.layers[r];_o(t,e,{name:`blocks.${r}.attn.o_proj.weight`,dy:o.dx,x:a.attention,dx:o.dAttention}),Im(t,{q:a.qRotated,k:a.kRotated,v:a.v,out:a.attention,dOut:o.dAttention,logSumExp:a.logSumExp,segmentStart:i.inputs.segmentStart,dq:o.dqRotated,dk:o.dkRotated,dv:o.dv,delta:o.delta,...da(n,s)});let u=Cn(n,s),{dqRotated:c,dkRotated:l,dkUnshifted:f=l,dq:d,dk:p,dv:m,dNorm:g}=o,{previous:h}=i.inputs;h&&jm(t,{dy:l,previous:h,dx:f,...u}),fa(t,{x:a.q,scale:a.qScale,dy:c,dx:d,...u}),fa(t,{x:a.k,scale:a.kScale,dy:f,dx:p,...u});for(let[_,x]of[["q",d],["k",p],["v",m]])_o(t,e,{name:`blocks.${r}.attn.${_}_proj.weight`,dy:x,x:a.xNorm,dx:g,epilogue:_==="q"?"store":"accumulate"});va(t,e,{x:a.x,scale:a.xScale,backward:o,accumulate:!0})}function va(t,{config:{width:e},extent:r},{backward:{dNorm:o,dx:n},...s}){let i=r.batchSize*r.sequenceLength;Um(t,{...s,dy:o,dx:n,rows:i,width:e})}var Zn=class t{registry;config;extent;#e;#t;#r;#o;#n;#s;#i;constructor(e,r,o,n,s){this.registry=e,this.config=r,this.extent=o,this.#e=e.gpu,this.#t={config:r,extent:o,tensors:n,teacher:s},n.inputs.embeddingRows&&(this.#s=new mt(r));let i=o.freeRows!==void 0;this.#i=new In(Mt(r,o),lo(o),i);let{lossScale:a}=n.inputs;a&&this.#e.write(a,Xm()),this.#r=new Te(e,"operand copies"),Km(this.#r,n),this.#o=new Te(e,"evaluation"),ar(this.#o,this.#t),xa(this.#o,{...this.#t,tensors:{...n,backward:void 0}}),this.#n=o.training?this.#c():void 0}static async create(e,r,o,n){let{sequenceLength:s=r.sequenceLength}=o;b(s<=r.sequenceLength,`sequences of ${s} tokens are too long`);let i={...o,sequenceLength:s},a=await mh(e.gpu,r,i),u=new t(e,r,i,a,n);return await e.ready(),u}get parameters(){return this.#t.tensors.parameters}get gradients(){return this.#t.tensors.gradients}get lossSum(){return this.#t.tensors.lossSum}get lossScale(){return this.#t.tensors.inputs.lossScale}get slotRows(){return this.#t.tensors.inputs.slotRows}get operands(){return this.#t.tensors.operands}load(e){Bn(this.#e,this.config,{parameters:this.parameters,weights:e}),this.#s?.load(e),this.#r.length>0&&this.#r.run()}async weights(){let e=await hh(this.#e,this.config,this.parameters);return this.#s?.save(e),e}zeroGradients(){this.#i.clear();let e=this.#e.device.createCommandEncoder({label:"zero gradients"});for(let{buffer:r}of this.gradients.values())e.clearBuffer(r);e.clearBuffer(this.lossSum.buffer),this.#e.device.queue.submit([e.finish()])}accumulate(e,r,o){b(this.#n,"a model without training cannot accumulate gradients"),this.#l(e,r,{isTraining:!0,ofTokens:o}),this.#n.run()}accumulateShare(e,r,{share:o,afterPart:n}){b(this.#n,"a model without training cannot accumulate gradients");let{sequenceLength:s}=this.extent,i=e.tokens.length/s,a=this.#s&&fo(e,this.#s,{sequenceLength:s,isTraining:!0});a&&this.#i.claim(a),this.#l(xm(e,i,o),r,{isTraining:!0,ofTokens:a&&Pt(a,i,o)}),this.#n.runInParts(n)}usedRows(e){return e==="address_embed.weight"?this.#i.size:B(this.gradients,e).shape[0]}async profile(e,r){return b(this.#n,"a model without training cannot accumulate gradients"),this.#l(e,r,{isTraining:!0}),[...(await this.#t.teacher?.profile()??[]).map(s=>({...s,label:`teacher's ${s.label}`})),...await this.#n.profile()]}#a(e,r={}){this.#l(e,0,r),this.#o.run()}async evaluateLosses(e){return this.#a(e),(await this.#e.read(this.#t.tensors.head.losses))[0]}async logProbabilities(e,r){if(b(r.every(s=>s<this.#u),"a position is outside the batch"),r.length===0)return new Float32Array;this.#a(e);let{config:o,tensors:n}=this.#t;return await ph(this.registry,{config:o,logits:n.head.logits,positions:r})}asTeacher(e){return{logits:this.#t.tensors.head.logits,softcap:this.config.softcap,weight:e,forward:r=>this.#a(r,{isTraining:!0}),profile:()=>this.#o.profile()}}destroy(){for(let e of this.#t.tensors.all)e.buffer.destroy()}get#u(){return this.extent.batchSize*this.extent.sequenceLength}#c(){let e=new Te(this.registry,"forward and backward");ar(e,this.#t),xa(e,this.#t);let{head:r,lossSum:o}=this.#t.tensors;return th(e,{x:r.losses,length:this.#u,out:o,accumulate:!0}),Sv(e,this.#t),e}#l(e,r,o={}){let{config:n,extent:s}=this,i=this.#f(e,o);ah(this.#e,this.#t.tensors.inputs,{config:n,extent:s,batch:e,weight:r,rows:i}),o.isTraining&&this.#t.teacher?.forward(e)}#f(e,r){if(!this.#s)return;let{sequenceLength:o}=this.extent,{isTraining:n=!1}=r,s=r.ofTokens??fo(e,this.#s,{sequenceLength:o,isTraining:n});if(!n||!this.#n)return{ofTokens:s};let i=this.#i.places(s);return{ofTokens:s,places:i,ofSlots:this.#i.rows}}};var Sa=class{gpu;config;members;state;hyper;constructor(e,r,o){this.gpu=e,this.config=r,this.members=o,this.state=new Map,this.hyper=e.tensor("AdamW numbers",[po]);for(let{name:n,parameter:s}of o)for(let i of["exp_avg","exp_avg_sq"])this.state.set(`${n}.${i}`,e.tensor(`${n}.${i}`,s.shape))}add(e,r){for(let{name:o,parameter:n,gradient:s}of this.members){let i=Ge(n);Sm(e,{parameter:n,gradient:s,...this.moments(o),hyper:this.hyper,clip:r,length:i})}}prepare(e,r){let{learningRate:o,beta1:n,beta2:s,epsilon:i,weightDecay:a}=this.config,u=vm({learningRate:o*r.learningRate,beta1:n,beta2:s,epsilon:i,weightDecay:a*r.weightDecay,step:e+1});this.gpu.write(this.hyper,u)}moments(e){return{expAvg:B(this.state,`${e}.exp_avg`),expAvgSq:B(this.state,`${e}.exp_avg_sq`)}}},Un=class extends Sa{slotRows;constructor(e,r,o,n){super(e,r,o),this.slotRows=n;for(let{name:s,parameter:i}of o)this.state.set(`${s}.num_updates`,e.tensor(`${s}.num_updates`,[i.shape[0]]))}add(e,r){for(let{name:o,parameter:n,gradient:s}of this.members){b(this.slotRows,`${o} has no slots`);let[i,a]=s.shape;Em(e,{slotRows:this.slotRows,gradient:s,parameter:n,...this.moments(o),numUpdates:B(this.state,`${o}.num_updates`),hyper:this.hyper,clip:r,slots:i,width:a})}}prepare(e,r){super.prepare(0,r)}};function gh(t,e,r){let o=Math.round(e*r.warmupShare),n=o>0?(t+1)/o:1,s=r.schedule==="cosine",i=s?e-o:Math.round(e*r.decayShare),a=i>0?Math.max(0,Math.min(1,(e-t)/i)):1,u=s?(1-Math.cos(Math.PI*a))/2:a;return Math.min(1,n,r.finalRatio+(1-r.finalRatio)*u)}var Av=128,Tv=32;function zv(t,e){let r=Math.min(e,Av);return{sequenceLength:r,batchSize:Math.min(Tv,_h(t,r).length)}}function $v(t,e,{batchSize:r,sequenceLength:o}){let n=_h(t,o),s=[];for(let i=0;i<n.length;i+=r){let a=Ov(n.slice(i,i+r),{batchSize:r,sequenceLength:o});s.push({batch:a,rows:fo(a,e,{sequenceLength:o,isTraining:!1})})}return s}function _h(t,e){let r=[],o=0;for(let n of t){let s=Fe(n,null);if(s>e)throw new y(`Cannot adapt: a measurement takes ${s} tokens, the model's sequence of ${e} or fewer were wanted; use a model with longer sequences`);s>o&&(r.push([]),o=e),r[r.length-1].push(n),o-=s}return r}function Ov(t,{batchSize:e,sequenceLength:r}){let o=e*r,n={tokens:new Uint16Array(o),targets:new Uint16Array(o),lossMask:new Uint8Array(o),segmentStart:new Uint16Array(o)};for(let s=0;s<e;s++){let i=s*r,a=i;for(let u of t[s]??[]){let c=new He(n.tokens,a).write(u,st);n.segmentStart.fill(a-i,a,a+c),n.targets.set(n.tokens.subarray(a+1,a+c),a),n.lossMask.fill(1,a+c-3,a+c-1),a+=c}n.segmentStart.fill(a-i,a,i+r)}return n}var Pv={kind:"adamw",beta1:.9,beta2:.95,epsilon:1e-8,weightDecay:0},Mv={schedule:"wsd",warmupShare:0,decayShare:1,finalRatio:.1},wh=3,Hz=7*32*wh,Iv=1e30;async function xh(t,e,r,o){let n=[];try{return await Rv(t,e,r,{...o,own:s=>n.push(s)})}finally{for(let s of n)s.destroy()}}async function Rv(t,e,r,{own:o,...n}){let{gpu:s}=t,{width:i,sequenceLength:a}=e.config,u=r.free.length,c=zv(r.measurements,a),l=new ka(r,e),f=Nv(r,c,l),d=await Zn.create(t,l.config(),{...c,training:!0,freeRows:u});o(d),d.load(l.weights());let p=B(d.parameters,be),m=B(d.gradients,be),g=new Un(s,{...Pv,learningRate:n.learningRate},[{name:be,parameter:p,gradient:m}],d.slotRows),h=s.tensorFrom("anchors",[u,i],l.starts),_=s.tensorFrom("largest drifts",[u],Float32Array.from(r.free,({isKnown:X})=>X?n.maxDrift:Iv)),x=s.tensorFrom("no clipping",[4],Float32Array.of(1,0,0,0));for(let{buffer:X}of[h,_,x,...g.state.values()])o(X);let A=new Te(t,"update of rows");g.add(A,x),Am(A,{table:p,anchors:h,limits:_,rows:u,width:i}),await t.ready();let M=Math.ceil(f[0].length/wh),k=(X,ut)=>X.filter((Ut,yr)=>yr%M===ut%M),I=X=>{let ut=X.reduce((Ut,{batch:yr})=>Ut+yr.lossMask.reduce((J_,X_)=>J_+X_,0)/2,0);d.zeroGradients();for(let{batch:Ut,rows:yr}of X)d.accumulate(Ut,1/(2*ut),yr);return ut},L=async()=>{let X=I(k(f[0],0));return(await s.read(d.lossSum))[0][0]/X},G=await L();for(let X=0;X<n.steps;X++){n.signal?.throwIfAborted();let ut=M===1?X:X+Math.floor(X/M);I(k(f[ut%f.length],X));let Ut=gh(X,n.steps,Mv);g.prepare(X,{learningRate:Ut,weightDecay:0}),A.run(),await s.finish(),n.onProgress?.(X+1)}let q=await L(),$e=(await s.read(p))[0].slice(0,u*i),Xe=$m(new Map([[be,$e]]),Tm);if(Xe)throw new y(`Cannot adapt: after the fit ${Xe}; lower --learning-rate`);return{values:$e,lossBefore:G,lossAfter:q}}var ka=class{starts;#e=new Map;#t;constructor({free:e},r){let{width:o}=r.config;this.#t=r,this.starts=new Float32Array(e.length*o),e.forEach(({row:n,start:s},i)=>{this.#e.set(n,i),this.starts.set(s,i*o)})}translate(e){return Uint32Array.from(e,r=>{if(r===$)return $;let o=this.#e.get(r)??this.#e.size;return this.#e.set(r,o),o})}config(){let e={rows:this.#e.size,seed:0,dropShare:0};return{...this.#t.config,prefixVectors:e,pairVectors:null,coordinates:null}}weights(){let{config:{width:e},weights:r}=this.#t,o=r.get(be)??new Float32Array,n=new Float32Array(this.#e.size*e);for(let[u,c]of this.#e)n.set(o.subarray(u*e,(u+1)*e),c*e);n.set(this.starts);let s=new Float32Array(2*this.#e.size),i=new Map(r).set(be,n).set(Ae,s),a=$n(this.config());return new Map([...i].filter(([u])=>a.has(u)))}};function Nv(t,e,r){let{measurements:o,addressEmbeddings:n}=t,s=n.config.prefixVectors?.rows??0,a=(o.some(({timeS:u})=>u!==null)?[0,1]:[0]).map(u=>{let c=o.map((l,f)=>f%2===u?l:{...l,timeS:null});return $v(c,n,e).map(({batch:l,rows:f})=>({batch:l,rows:r.translate(f),withoutPairs:r.translate(f.map(d=>d>=s?$:d))}))});return!n.config.pairVectors||s===0?a:[...a,...a.map(u=>u.map(({batch:c,withoutPairs:l})=>({batch:c,rows:l})))]}var Lv=50;async function yh(t,e,{addresses:r,adaptedNodes:o,signal:n,onLocated:s}){let{coordinates:i}=t,a=new Map;if(!i)return new Uint32Array;let u=[...Cv(e,r)].map(d=>({...d,node:t.nodeOf(d.address)})).filter(({node:d})=>o.has(d)||!i.hasCoordinates(d)),c=new Set(u.map(({node:d})=>d)),l=[],f=performance.now();for(let[d,{address:p,rttsMs:m}]of u.entries()){performance.now()-f>Lv&&(await new Promise(_=>setTimeout(_,0)),f=performance.now()),n?.throwIfAborted();let g=[...m.values()].map(({other:_,ms:x})=>({node:t.nodeOf(_),rttMs:Dv(x)})),h=i.locate(g,c);h&&l.push({address:p,place:h}),s?.(d+1,u.length)}for(let{address:d,place:p}of l){let m=t.claimNode(d);m!==$&&a.set(m,p)}return i.put(a),Uint32Array.from(a.keys()).sort()}function Cv(t,e){let r=new Map;for(let{source:o,destination:n,rttCode:s}of t)for(let[i,a]of[[o,n],[n,o]]){let u=te(i),c=te(a);if(s===null||u===c||!e.has(u))continue;let{rttsMs:l}=r.getOrInsertComputed(u,()=>({address:i,rttsMs:new Map}));l.getOrInsertComputed(c,()=>({other:a,ms:[]})).ms.push(hn(s))}return r.values()}function Dv(t){return t.toSorted((e,r)=>e-r)[t.length-1>>1]}function bh(t){let e=t.flatMap(({source:r,destination:o})=>[r,o]);return new Map(e.map(r=>[te(r),r]))}function qn({source:t,destination:e},r){return r.has(te(t))||r.has(te(e))}function vh(t,e,r=new Set){let o=Ea(t);return[...bh(e)].filter(([,n])=>{let s=o.rowOfAddress(n);return s===$||r.has(s)}).map(([n])=>n)}async function Sh(t,e,r){let{addresses:o,adapted:n,...s}=r,i=Ea(t),a=Ea(t),u=new Map,c=[],l=[],f=bh(e),d=Uv(t),p=[...f.values()].map(h=>({address:h,row:i.rowOfAddress(h)})).filter(({row:h})=>h!==$),m=(h,_,x)=>{h===$||u.has(h)||u.set(h,{row:h,isKnown:!_&&!n.rows.has(h),start:x??d(h)})};for(let[h,_]of f){if(!o.has(h))continue;let x=i.rowOfAddress(_)===$,A=a.rowOfAddress(_,{claims:!0});m(A,x,x?Bv(_,p,d):void 0),(A===$?c:l).push(h)}let g=e.filter(h=>qn(h,o));for(let{source:h,destination:_}of g){let x=i.rowOfPair(h,_)===$;m(a.rowOfPair(h,_,{claims:!0}),x)}return{addressEmbeddings:a,free:[...u.values()],measurements:g,addresses:l,withoutRow:c,located:await yh(a,g,{...s,addresses:o,adaptedNodes:n.nodes})}}function Bv(t,e,r){let o=e.filter(u=>u.address.length===t.length),n=o.map(u=>Zv(u.address,t)),s=n.reduce((u,c)=>Math.max(u,c),0),i=o.filter((u,c)=>n[c]===s);if(i.length===0)return;let a=new Float64Array(r(i[0].row).length);for(let{row:u}of i)r(u).forEach((c,l)=>a[l]+=c);return Float32Array.from(a,u=>u/i.length)}function Zv(t,e){let r=t.findIndex((o,n)=>o!==e[n]);return r<0?t.length:r}function Ea({config:t,weights:e}){let r=new mt(t);return r.load(e),r}function Uv({config:{width:t},weights:e}){let r=B(e,be);return o=>r.slice(o*t,(o+1)*t)}var qv={steps:20,learningRate:.1,maxDrift:1};async function Eh(t,e,r,o={}){jv(e);let n=r.filter(({rttCode:h})=>h!==null),{adapted:s={rows:new Set,nodes:new Set},addresses:i=vh(e,n,s.rows),onLocated:a,...u}=o,c=await Sh(e,n,{addresses:new Set(i),adapted:s,signal:u.signal,...a&&{onLocated:a}}),l=r.length-n.length,f={addresses:c.addresses,withoutRow:c.withoutRow,numFailed:l};if(c.free.length===0){let h=kh(e,c,new Float32Array);return{...f,update:h,numMeasurements:0,lossBefore:null,lossAfter:null}}let{values:d,lossBefore:p,lossAfter:m}=await xh(t,e,c,{...qv,...u}),g=kh(e,c,d);return{...f,update:g,numMeasurements:c.measurements.length,lossBefore:p,lossAfter:m}}function kh({config:t,weights:e},r,o){let{width:n}=t;for(let{source:a,destination:u,rttCode:c,timeS:l}of r.measurements)c!==null&&r.addressEmbeddings.remember(r.addressEmbeddings.rowOfPair(a,u),{rttCode:c,timeS:l});let s=B(e,be).slice();r.free.forEach(({row:a},u)=>s.set(o.subarray(n*u,n*(u+1)),n*a));let i=new Map(e).set(be,s);return r.addressEmbeddings.save(i),mm(t,i,Uint32Array.from(r.free,({row:a})=>a).sort(),r.located)}function jv({config:t,weights:e}){if(!(ye(t)>0&&e.has(Ae)))throw new y(`Cannot adapt the model: it has no address embeddings, expected one with them; train one with --set 'model.prefixVectors={"rows":65536}'`)}var jn=class{config;weights;rows;nodes;adaptation;#e;#t;#r;constructor(e,r,{adapted:o,trainingData:n}={}){this.config=e,this.weights=r,this.#r=new WeakSet,this.rows=new Set(o?.rows),this.nodes=new Set(o?.nodes),this.#e=n,this.adaptation=n?.adaptation}get trainingData(){return this.#e&&{...this.#e,adaptation:this.adaptation}}async fit(e,r,o){let n=await Eh(e,this,r,{...o,adapted:this});this.weights=pm(this.config,this.weights,n.update);for(let s of n.update.rows)this.rows.add(s);for(let s of n.update.coordinates.nodes)this.nodes.add(s);return this.#o(r,n),n}#o(e,{addresses:r,withoutRow:o}){let[n,s]=[new Set(r),new Set(o)],i=this.#t??=this.adaptation?ao.of(this.adaptation):new ao;for(let u of e){let{source:c,destination:l,rttCode:f,timeS:d}=u;f===null||this.#r.has(u)||!qn(u,n)||qn(u,s)||(this.#r.add(u),i.add(i.id(c),i.id(l),d))}let a=i.summary({origin:"",isSynthetic:null});a.measurements>0&&(this.adaptation={summary:a,known:i.table()})}};async function Fv(t,e){let r=t.onSubmittedWorkDone(),o=performance.now();return await r,((Symbol.for("Deno.privateCustomInspect")in t?o:performance.now())-e)/1e3}var[Ah,Hv]=[2**16,2**24],Kv=2**26,Hn=class{make;drop;#e;#t;constructor(e,r){this.make=e,this.drop=r,this.#e=new Map,this.#t=0}take(e){let r=e<Ah||e>Hv?e:2**Math.ceil(Math.log2(e)),o=this.#e.get(r)?.pop();return o!==void 0&&(this.#t-=r),o??this.make(r)}give(e,r){if(r<Ah||this.#t+r>Kv)return this.drop(e);this.#t+=r,this.#e.set(r,[...this.#e.get(r)??[],e])}},Gv=["maxStorageBufferBindingSize","maxBufferSize","maxComputeWorkgroupStorageSize","maxComputeInvocationsPerWorkgroup","maxComputeWorkgroupSizeX","maxStorageBuffersPerShaderStage"],Th=/llvmpipe|lavapipe|swiftshader|warp|basic render/i,Fn=new Set;globalThis.addEventListener("unload",()=>wo.blockUntilIdle());var wo=class t{device;info;#e;#t;#r;#o;#n;#s;constructor(e,r){this.device=e,this.info=r,this.#r=0,this.#o=new WeakRef(this),this.#n=new Hn(o=>this.device.createBuffer({label:"readback",size:o,usage:GPUBufferUsage.MAP_READ|GPUBufferUsage.COPY_DST}),o=>o.destroy()),this.#s=new Hn(o=>new ArrayBuffer(o),()=>{}),Fn.add(this.#o),e.lost.then(o=>this.#e=o.message||"device lost"),e.addEventListener("uncapturederror",o=>{o.preventDefault(),this.#t??=o.error.message})}static async open(e={}){let r=await navigator.gpu?.requestAdapter({powerPreference:"high-performance"});if(!r)throw new y("Cannot use WebGPU: no adapter was found, expected a GPU or software driver; run sh setup.sh to install one");if(Vv(r))throw new y(`Cannot use WebGPU: no adapter was found besides OpenGL in software (${r.info.description}), expected a Vulkan driver; run sh setup.sh to install one`);let o={};for(let d of Gv)o[d]=r.limits[d];let n=e.subgroups??!0?await Aa(r,o,["subgroups"])??await Aa(r,o,[]):await Aa(r,o,[]);if(!n)throw new y("Cannot use WebGPU: the adapter gives no device; close other GPU programs and retry");let s=n.features.has("subgroups"),i=r.info,{description:a,vendor:u,subgroupMinSize:c,subgroupMaxSize:l}=i,f=a||i.device||`${u} ${i.architecture}`.trim()||"unnamed adapter";return new t(n,{name:f,vendor:u,subgroupSize:s&&c===l?c:void 0,enablesSubgroups:s&&r.features.has("subgroups"),isSoftware:Th.test(`${f} ${a} ${u}`)})}tensor(e,r,o="f32"){let n=uo(r,o),s=this.device.createBuffer({label:e,size:n,usage:GPUBufferUsage.STORAGE|GPUBufferUsage.COPY_SRC|GPUBufferUsage.COPY_DST});return this.#r+=n,{label:e,shape:[...r],dtype:o,offsetBytes:0,buffer:s}}get allocatedBytes(){return this.#r}tensorFrom(e,r,o){let n=this.tensor(e,r);return this.write(n,o),n}write(e,r){b(r.byteLength<=$t(e),`${r.byteLength} bytes do not fit ${e.label}`),this.device.queue.writeBuffer(e.buffer,e.offsetBytes,r)}async read(...e){return await this.readAfter(()=>{},...e)}async readAfter(e,...r){return(await this.#a(r,e)).map((o,n)=>r[n].dtype==="f16"?Float32Array.from(new Float16Array(o.buffer,0,o.length/2)):new Float32Array(o.buffer,0,o.length/4))}array(e){return new Float32Array(this.#s.take(4*e),0,e)}recycle(...e){for(let{buffer:r}of e){let o=r.transfer();this.#s.give(o,o.byteLength)}}async readUint32(e){let[{buffer:r,length:o}]=await this.#a([e]);return new Uint32Array(r,0,o/4)}async finish(){await this.device.queue.onSubmittedWorkDone(),this.check()}get fault(){return this.#e?`the GPU device was lost (${this.#e})`:this.#t&&`WebGPU: ${this.#t}`}check(){if(this.#e)throw new y(`Cannot continue: ${this.fault}; run again`);if(this.#t)throw new Error(`Internal error: ${this.fault}`)}async timeS(e){let r=performance.now();return e(),await Fv(this.device.queue,r)}close(){this.#i(),Fn.delete(this.#o),this.device.destroy()}static blockUntilIdle(){for(let e of Fn){let r=e.deref();r?r.#i():Fn.delete(e)}}#i(){this.device.queue.onSubmittedWorkDone().catch(()=>{})}[Symbol.dispose](){this.close()}async#a(e,r=()=>{}){let o=[],n=0;for(let i of e)o.push(n),n+=uo(i.shape,i.dtype);let s=this.#n.take(n);try{let i=this.device.createCommandEncoder({label:"readback"});r(i),e.forEach((c,l)=>i.copyBufferToBuffer(c.buffer,c.offsetBytes,s,o[l],Math.ceil($t(c)/4)*4)),this.device.queue.submit([i.finish()]),await s.mapAsync(GPUMapMode.READ,0,n).catch(async c=>{throw await this.finish(),c});let a=s.getMappedRange(0,n),u=e.map((c,l)=>{let f=$t(c),d=new Uint8Array(this.#s.take(f),0,f);return d.set(new Uint8Array(a,o[l],f)),d});return this.check(),s.unmap(),this.#n.give(s,s.size),u}catch(i){throw s.destroy(),i}}};function Vv(t){return t.limits.maxBindingsPerBindGroup===4294967295&&Th.test(`${t.info.description} ${t.info.vendor}`)}async function Aa(t,e,r){try{return await t.requestDevice({requiredLimits:e,requiredFeatures:r})}catch{return}}var Ta="//! ";function Be(t,e){return`${Ta}${t}
${e}`}function za(t){return t.replace(/\/\/(?!!).*$/gm,"")}function $a(t,e,r,o){let n=e.split(`
`).slice(0,r-1),s=n.findLastIndex(a=>a.startsWith(Ta)),i=n[s]?.slice(Ta.length);return new D(t,o,r-1-s,i)}function zh(t,e){let r=za(e),o=[...r.matchAll(/@group\((\d+)\)\s*@binding\((\d+)\)\s*var<([^>]*)>\s*(\w+)/g)].map(([,i,a,u,c])=>{if(i!=="0")throw new D(t,`binding ${c} is in group ${i}, expected 0`);let[l,f="read"]=u.split(",").map(d=>d.trim());return{name:c,index:Number(a),access:l==="uniform"?"uniform":f}}),s=(/struct\s+Params\s*\{([^}]*)\}/.exec(r)?.[1]??"").split(",").map(i=>i.trim()).filter(Boolean).map(i=>{let a=/^(\w+)\s*:\s*(u32|i32|f32)$/.exec(i);if(!a)throw new D(t,`field "${i}" of Params is not NAME: u32 | i32 | f32`);return{name:a[1],type:a[2]}});return{bindings:o,params:s,overrides:[...r.matchAll(/^\s*override\s+(\w+)/gm)].map(i=>i[1]),usesLanes:/\b(lane_sum|lane_max|LANES)\b/.test(r),usesSubgroups:/\bsubgroup[A-Z]\w*\s*\(/.test(r)}}var $h=`// Prelude of the row kernels for adapters with subgroups: a workgroup is exactly one subgroup of LANES lanes.
//   lane_sum(x, lane) = sum of x over the workgroup's lanes, the same value in every lane; lane_max likewise.
// The registry puts LANES before this text. Calls must be in uniform control flow.
fn lane_sum(x: f32, lane: u32) -> f32 {
  return subgroupAdd(x);
}

fn lane_max(x: f32, lane: u32) -> f32 {
  return subgroupMax(x);
}
`;var Oh=`// Prelude of the row kernels for adapters without subgroups: a tree in workgroup memory, a fixed order.
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
`;var Ph=`// y[r, :] = x[r, :] / sqrt(mean(x[r, :]^2) + eps), eps = 2^-23 (the epsilon of float32), no learned scale.
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
`;var Mh=`// The epilogue of a matrix product p: STORE c = p; ACCUMULATE c += p; ADD c = d + p; ACTIVATE c = f(p);
// ACTIVATE_KEEP also e = p; SLOPE c = p f'(d); with f relu(x)^2 (ACTIVATION 0), GELU by its tanh form (1), SiLU
// x / (1 + exp(-x)) (2); POLYNOMIAL c = 3.4445 I - 4.7750 d + 2.0315 p, Muon's polynomial of a Gram matrix d where p is
// its square. Part of gemm_subgroup8 and gemm_tiled, whose bindings and parameters it uses.
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

fn activation_slope(x: vec4f) -> vec4f {
  if (ACTIVATION == 0u) {
    return 2f * max(x, vec4f(0f));
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

// 4 columns of a row of the matrix that starts at c[first]; nothing past the end of the matrix.
fn store(first: u32, row: u32, column4: u32, value: vec4f) {
  if (row >= params.m || column4 >= params.n / 4u) { return; }
  let at = first + row * (params.n / 4u) + column4;
  var result = value;
  if (params.epilogue == ACCUMULATE) {
    result += c[at];
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
`;var Ih=`// One step of AdamW: g = clip gradient; m += (1 - beta1) (g - m); v += (1 - beta2) (g^2 - v);
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
`;var Rh=`// One step of AdamW for some rows of a table, the others do not change. For slot s < slot_rows[0], of row
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
`;var Nh=`// x[r, :] += sum over k < ROWS_PER_TOKEN of table[indexes[r ROWS_PER_TOKEN + k], :], of the indexes below table_rows
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
`;var Lh=`// The optimizer's treatment of this step, from the sum of squares of all gradients:
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
`;var Ch=`// y = x, between tensors of different storage formats, such as f16 copies of weights.
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
`;var Dh=`// d_table[v, :] += sum over the rows r with tokens[r] == v of dx[r, :]
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
`;var Bh=`// x[r, :] = table[tokens[r], :]
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
`;var Zh=`// C = op(A) op(B) with an epilogue such as a sum or an activation, where op transposes or not.
// For adapters whose subgroups have exactly 8 lanes (lavapipe on AVX2): a load costs 40 times as much as a vector fma,
// and a subgroupBroadcast about as much as one, so each lane loads a 4 x 4 block of A and one of B per 4 steps of k,
// and the blocks of A are distributed by broadcast. Measured on 2 cores of lavapipe (Mesa 25.0): see
// lib/tensor/ops/gemm.ts.
// Bindings: a, op(A) (m, k), stored (k, m) if TRANSPOSE_A, read; b, op(B) (k, n), stored (n, k) if TRANSPOSE_B, read;
//   d (m, n) read, used by ADD and SLOPE; c (m, n) write, also read by ACCUMULATE; e (m, n) write, of ACTIVATE_KEEP. Of a
//   batch, matrix z of each starts z times its stride (in vec4) after the first.
// Epilogues: see gemm_epilogue.wgsl, which precedes this text.
// Grid: x = ceil(n / 32) column tiles, y = ceil(m / 32) row tiles, z = matrices of the batch; one subgroup of 8 lanes a tile, lane l owns the columns
//   4 l .. 4 l + 3 of all 32 rows; s[i] is the rows 4 i .. 4 i + 3, a matrix whose column j is row 4 i + j.
// Numerics: f32, four products are summed, then added to the accumulator, k ascending. Loads are clamped into the matrix;
//   duplicated values are not stored, or are multiplied by 0 if k is not a multiple of 4. (Without the clamps it is
//   slower.) If symmetric == 1, C = C^T is known: tiles below the diagonal are stored on both sides of it, those above
//   are skipped.
// Limits: n % 4 == 0; k % 4 == 0 unless TRANSPOSE_A; m % 4 == 0 if TRANSPOSE_A; not both transposed; m == n if symmetric.
struct Params { m: u32, n: u32, k: u32, epilogue: u32, stride_a: u32, stride_b: u32, stride_c: u32, symmetric: u32 }

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
  for (var k4 = 0u; k4 < k_end; k4++) {
    let x = load_a(first_a, row + lane * 4u, k4);
    let y = load_b(first_b, b_column4, k4);
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
  if (column4 >= n4) { return; }
  // A bound unknown to the compiler: unrolled stores take 4 s to compile instead of 0.5 s.
  let blocks = min((params.m - row + 3u) / 4u, 8u);
  for (var side = 0u; side < num_sides(group); side++) {
    for (var i = 0u; i < blocks; i++) {
      store4(group.z * params.stride_c, side, row + i * 4u, column4, s[i]);
    }
  }
}
`;var Uh=`// C = op(A) op(B) with an epilogue such as a sum or an activation, where op transposes or not; for any adapter.
// One tile of C per workgroup: 16 steps of k of A and B go through workgroup memory, each thread owns 8 x 8 elements of
// C.
// Source: the register-blocked SGEMM of Volkov and Demmel, Benchmarking GPUs to Tune Dense Linear Algebra, SC 2008.
// Bindings: a, op(A) (m, k), stored (k, m) if TRANSPOSE_A, read; b, op(B) (k, n), stored (n, k) if TRANSPOSE_B, read;
//   d (m, n) read, used by ADD and SLOPE; c (m, n) write, also read by ACCUMULATE; e (m, n) write, of ACTIVATE_KEEP. Of a
//   batch, matrix z of each starts z times its stride (in vec4) after the first.
// Epilogues: see gemm_epilogue.wgsl, which precedes this text.
// Grid: x = ceil(n / TILE) column tiles, y = ceil(m / TILE) row tiles, z = splits of the matrices of the batch, where split s
//   of matrix i is z = i splits + s, has the steps s split_k .. of k and stores into matrix z of c; (TILE / 8)^2 threads; thread (tx, ty) owns the
//   rows 8 ty .. 8 ty + 7 and the columns 4 tx .. 4 tx + 3 and TILE / 2 + 4 tx ..: neighbours read neighbouring words.
// Numerics: f32, fma, k ascending. Loads are clamped into the matrix, those beyond k are multiplied by 0; values
//   beyond m and n are not stored. The next 16 steps of k are fetched while the present ones are multiplied.
//   If symmetric == 1, C = C^T is known: tiles below the diagonal are stored on both sides of it, those above are
//   skipped.
// Limits: split_k % 16 == 0; n % 4 == 0; k % 4 == 0 unless TRANSPOSE_A; m % 4 == 0 if TRANSPOSE_A; not both transposed; TILE is 64 or 128;
//   m == n if symmetric.
struct Params { m: u32, n: u32, k: u32, epilogue: u32, stride_a: u32, stride_b: u32, stride_c: u32, splits: u32, split_k: u32,
  symmetric: u32 }

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

// Column i: step k + i of k, at the rows row .. row + 3 of op(A), which starts at a[first].
fn load_a(first: u32, row: u32, k: u32) -> mat4x4f {
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

// Column i: step k + i of k, at the columns column .. column + 3 of op(B), which starts at b[first].
fn load_b(first: u32, column: u32, k: u32) -> mat4x4f {
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
  let k_end = min(k_begin + params.split_k, params.k);
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
`;var qh=`// g = clip gradient; momentum += (1 - mu) (g - momentum); x = g + mu (momentum - g): Nesterov's momentum in Muon's form.
// Source: Jordan et al., Muon: An optimizer for hidden layers in neural networks, 2024; the form of torch.optim.Muon.
// Bindings: gradient (length) read; hyper read: mu at 0, see muon_update.wgsl; clip read: factor at 0, see
//   clip_factor.wgsl; momentum (length) read and write, unchanged where clip == 0; x write, from x[first4] on.
// Grid: workgroups of 64 threads over length / 4 vec4, BATCH of them a thread, 64 apart. Numerics: f32.
// Limits: length % 4 == 0.
struct Params { length: u32, first4: u32 }

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
      x[params.first4 + i] = momentum[i];
      continue;
    }
    let g = gradient[i] * factor;
    let m = momentum[i] + (1f - mu) * (g - momentum[i]);
    momentum[i] = m;
    x[params.first4 + i] = g + mu * (m - g);
  }
}
`;var jh=`// y = x / max(norm, epsilon) for each matrix of a stack, norm = sqrt(sum_of_squares): the Frobenius norm bounds the largest singular value by 1.
// Source: as muon_momentum.wgsl; epsilon 1e-7 as torch.optim.Muon.
// Bindings: x (count, length) read; sum_of_squares (count) read; y (count, length) write.
// Grid: workgroups of 64 threads over length / 4 vec4, BATCH of them a thread, 64 apart, times z = count. Numerics: f32.
// Limits: length % 4 == 0.
struct Params { length: u32 }

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> sum_of_squares: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(3) var<uniform> params: Params;

const BATCH = 8u;
const EPSILON = 1e-7f;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let factor = 1f / max(sqrt(sum_of_squares[group.z]), EPSILON);
  let first = group.z * (params.length / 4u);
  let start = (group.y * groups.x + group.x) * 64u * BATCH + thread;
  let end = min(start + 64u * BATCH, params.length / 4u);
  for (var i = start; i < end; i += 64u) {
    y[first + i] = x[first + i] * factor;
  }
}
`;var Fh=`// parameter = parameter (1 - lr decay) - lr shape_factor x; nothing changes if clip == 0.
// Source: as muon_momentum.wgsl; decoupled weight decay, shape_factor = sqrt(max(1, rows / columns)).
// Bindings: x read, from x[first4] on; hyper (4) read: mu, lr, decay, unused; clip read: factor at 0, see clip_factor.wgsl;
//   parameter (length) read and write.
// Grid: workgroups of 64 threads over length / 4 vec4, BATCH of them a thread, 64 apart. Numerics: f32.
// Limits: length % 4 == 0.
struct Params { length: u32, first4: u32, shape_factor: f32 }

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> hyper: array<f32>;
@group(0) @binding(2) var<storage, read> clip: array<f32>;
@group(0) @binding(3) var<storage, read_write> parameter: array<vec4f>;
@group(0) @binding(4) var<uniform> params: Params;

const BATCH = 8u;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  if (clip[0] == 0f) { return; }
  let keep = 1f - hyper[1] * hyper[2];
  let step = hyper[1] * params.shape_factor;
  let start = (group.y * groups.x + group.x) * 64u * BATCH + thread;
  let end = min(start + 64u * BATCH, params.length / 4u);
  for (var i = start; i < end; i += 64u) {
    parameter[i] = parameter[i] * keep - step * x[params.first4 + i];
  }
}
`;var Hh=`// losses[r] = -log softmax(z[r, :])[targets[r]] where loss_mask[r] != 0, else 0, with z = s tanh(logits / s) if SOFTCAP,
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
`;var Kh=`// Limits the distance of a table's rows from their anchors: for row r < params.rows, d = table[r, :] - anchors[r, :];
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
`;var Gh=`// out[i, :] = log softmax(z[r, :]), r = row_index[i], with z = s tanh(logits / s) if SOFTCAP, else z = logits; columns from
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
`;var Vh=`// dx of y = rope(norm(x)) for each head, given dy: dz is dy with the inverse rotation, dx = s (dz - x s^2 mean(x dz)),
// or dz if not NORM.
// Source: the derivative of qk_norm_rope_forward.wgsl; a rotation's transpose is its inverse.
// Bindings: x, dy (rows, H, D) read; rotation (T, D / 8, 2, 4) read: 4 cosines, 4 sines; scale (rows, H) read if NORM: s
//   of the forward pass; dx (rows, H, D) write.
// Grid: ceil(rows * H / 64) workgroups of 64 threads over x and y, a thread per head of a row.
// Numerics: f32. Limits: D = head_dim is a multiple of 8.
struct Params { num_heads_total: u32, num_heads: u32, head_dim: u32, sequence_length: u32 }

override NORM: bool = true;

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> scale: array<f32>;
@group(0) @binding(2) var<storage, read> rotation: array<vec4f>;
@group(0) @binding(3) var<storage, read> dy: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> dx: array<vec4f>;
@group(0) @binding(5) var<uniform> params: Params;

// Dims 4 i onwards and D / 2 + 4 i onwards of a head, which a rotation turns into one another.
struct Pair { first: vec4f, second: vec4f }

// Pairs that stay in registers between the sum and the result: all for D <= 32; those beyond are read twice.
const NUM_KEPT = 4u;

fn x_pair(at: u32) -> Pair {
  if (!NORM) { return Pair(vec4f(0), vec4f(0)); }
  return Pair(x[at], x[at + params.head_dim / 8u]);
}

// The gradient with respect to the normalised x.
fn dz_pair(at: u32, table: u32) -> Pair {
  let d1 = dy[at];
  let d2 = dy[at + params.head_dim / 8u];
  let cosine = rotation[table];
  let sine = rotation[table + 1u];
  return Pair(d1 * cosine + d2 * sine, d2 * cosine - d1 * sine);
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
  var kept_x: array<Pair, NUM_KEPT>;
  var kept_dz: array<Pair, NUM_KEPT>;
  var sum = 0f;
  for (var i = 0u; i < NUM_KEPT; i++) {
    if (i < num_pairs) {
      kept_x[i] = x_pair(first + i);
      kept_dz[i] = dz_pair(first + i, table + 2u * i);
      sum += dot_pairs(kept_x[i], kept_dz[i]);
    }
  }
  var s = 1f;
  var slope = 0f;
  if (NORM) {
    for (var i = NUM_KEPT; i < num_pairs; i++) {
      sum += dot_pairs(x_pair(first + i), dz_pair(first + i, table + 2u * i));
    }
    s = scale[head];
    slope = sum / f32(params.head_dim) * s * s;
  }
  for (var i = 0u; i < NUM_KEPT; i++) {
    if (i < num_pairs) { store_dx(first + i, kept_x[i], kept_dz[i], s, slope); }
  }
  for (var i = NUM_KEPT; i < num_pairs; i++) {
    store_dx(first + i, x_pair(first + i), dz_pair(first + i, table + 2u * i), s, slope);
  }
}
`;var Wh=`// y = rope(norm(x)) of each head: norm(x) = s x with s = 1 / sqrt(mean(x^2) + eps) over its D dims, or s = 1 if not NORM;
// rope turns each pair (x[i], x[i + D / 2]) by the angle t * 10000^(-2 i / D), t = row % sequence_length.
// Source: Su et al., RoFormer, 2021, equation 34, with pairs from the two halves instead of neighbours, as in GPT-NeoX;
//   Henry et al., Query-Key Normalization for Transformers, 2020, with rmsNorm.
// Bindings: x (rows, H, D) read; rotation (T, D / 8, 2, 4) read: 4 cosines, 4 sines; y (rows, H, D) write;
//   scale (rows, H) write if NORM: s, for the backward pass.
// Grid: ceil(rows * H / 64) workgroups of 64 threads over x and y, a thread per head of a row.
// Numerics: f32; cosines and sines come from the host, since WGSL's are accurate only in [-pi, pi].
// Limits: D = head_dim is a multiple of 8.
struct Params { num_heads_total: u32, num_heads: u32, head_dim: u32, sequence_length: u32 }

override NORM: bool = true;

@group(0) @binding(0) var<storage, read> x: array<vec4f>;
@group(0) @binding(1) var<storage, read> rotation: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> scale: array<f32>;
@group(0) @binding(4) var<uniform> params: Params;

const EPSILON = 1.1920929e-7f;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let head = (group.y * groups.x + group.x) * 64u + thread;
  if (head >= params.num_heads_total) { return; }
  let first = head * (params.head_dim / 4u);
  let second = first + params.head_dim / 8u;
  let table = head / params.num_heads % params.sequence_length * (params.head_dim / 4u);
  var s = 1f;
  if (NORM) {
    var sum = 0f;
    for (var i = 0u; i < params.head_dim / 8u; i++) {
      let x1 = x[first + i];
      let x2 = x[second + i];
      sum += dot(x1, x1) + dot(x2, x2);
    }
    s = inverseSqrt(sum / f32(params.head_dim) + EPSILON);
    scale[head] = s;
  }
  for (var i = 0u; i < params.head_dim / 8u; i++) {
    let x1 = x[first + i] * s;
    let x2 = x[second + i] * s;
    let cosine = rotation[table + 2u * i];
    let sine = rotation[table + 2u * i + 1u];
    y[first + i] = x1 * cosine - x2 * sine;
    y[second + i] = x1 * sine + x2 * cosine;
  }
}
`;var Yh=`// dx of y = shift_keys(x, x): a row's shifted quarters went to the rows whose \`previous\` it is: itself or the next.
// Source: the derivative of shift_keys_forward.wgsl.
// Bindings: dy (rows, H, D) read; previous (rows) read: r or r - 1; dx (rows, H, D) write.
// Grid: workgroups of 64 threads over the vec4, BATCH of them a thread, 64 apart. Numerics: f32, a sum of two at most.
// Limits: D % 16 == 0.
struct Params { num_vec4: u32, row_vec4: u32, quarter_vec4: u32 }

@group(0) @binding(0) var<storage, read> dy: array<vec4f>;
@group(0) @binding(1) var<storage, read> previous: array<u32>;
@group(0) @binding(2) var<storage, read_write> dx: array<vec4f>;
@group(0) @binding(3) var<uniform> params: Params;

const BATCH = 8u;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u,
        @builtin(local_invocation_index) thread: u32) {
  let start = (group.y * groups.x + group.x) * 64u * BATCH + thread;
  let end = min(start + 64u * BATCH, params.num_vec4);
  for (var i = start; i < end; i += 64u) {
    let row = i / params.row_vec4;
    let next = i + params.row_vec4;
    var d = dy[i];
    if (i % params.row_vec4 / params.quarter_vec4 % 2u == 1u) {
      if (previous[row] != row) { d = vec4f(0f); }
      if (next < params.num_vec4) {
        if (previous[row + 1u] == row) { d += dy[next]; }
      }
    }
    dx[i] = d;
  }
}
`;var Jh=`// y = x, except for the 2nd and the 4th quarter of each head, which come from another token:
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
`;var Xh=`// c = the sum of the splits of a matrix product, or c += it, for products whose steps of k are divided over workgroups.
// Bindings: partials (splits, length) read; c (length) write, also read if accumulate == 1.
// Grid: workgroups of 64 threads over length / 4 vec4, BATCH of them a thread, 64 apart.
// Numerics: f32, splits ascending, so results are bit-identical in every run.
// Limits: length % 4 == 0.
struct Params { length: u32, splits: u32, accumulate: u32 }

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
  for (var i = start; i < end; i += 64u) {
    var sum = partials[i];
    for (var split = 1u; split < params.splits; split++) {
      sum += partials[split * length4 + i];
    }
    if (params.accumulate == 1u) { sum += c[i]; }
    c[i] = sum;
  }
}
`;var Qh=`// partials[first + g] = the sum of x (or of x^2 if SQUARE) over the g-th of num_partials equal parts of x.
// First of two passes: parts by workgroups, then their sum by a second dispatch of this kernel with one workgroup.
// In a batch, row z of x is summed in the same way; its partials follow those of row z - 1.
// Bindings: x (batch, length) read; partials write, from \`first\` on num_partials a row, added to if accumulate == 1.
// Grid: num_partials workgroups of LANES lanes, by gridOf, times z = batch. Numerics: f32; per lane, then over lanes: a fixed order.
// Limits: x is allocated for a multiple of 4 elements (like every tensor); elements beyond length are ignored.
//   In a batch of several rows, length % 4 == 0.
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
  let x0 = group.z * whole4;
  let at = params.first + group.z * params.num_partials + part;
  var sums = vec4f();
  for (var i = part * part4 + lane; i < min((part + 1u) * part4, whole4); i += LANES) {
    sums += term(x[x0 + i]);
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
`;var eg=`// dx[r, :] (+)= s (dy[r, :] - x[r, :] s^2 mean(x[r, :] dy[r, :])) for y = s x, s = 1 / sqrt(mean(x^2) + eps).
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
`;var tg=`// dv[j] = sum_t p[t, j] d_out[t] and dk[j] = sum_t ds[t, j] q[t] / sqrt(D) over the queries t that see key j, those with
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
`;var rg=`// dv[j] = sum_t p[t, j] d_out[t] and dk[j] = sum_t ds[t, j] q[t] / sqrt(D) over the queries t that see key j, those with
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
`;var og=`// dq[t] = sum_j ds[t, j] k[j] / sqrt(D) with ds[t, j] = p[t, j] (d_out[t] . v[j] - delta[t]), p[t, j] =
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
`;var ng=`// dq[t] = sum_j ds[t, j] k[j] / sqrt(D) with ds[t, j] = p[t, j] (d_out[t] . v[j] - delta[t]), p[t, j] =
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
`;var sg=`// out[r] = sum_j p[r, j] v[j], p[r, :] = softmax(q[r] . k[j] / sqrt(D)) for each head, where row r attends to the keys of
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
`;var ig=`// out[r] = sum_j p[r, j] v[j], p[r, :] = softmax(q[r] . k[j] / sqrt(D)) for each head, where row r attends to the keys of
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
`;var ag=`// out[t] = sum_j p[t, j] v[j], p[t, :] = softmax(q[t] . k[j] / sqrt(D)) over segment_start[t] <= j <= t, for each head;
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
`;var ug=`// out[t] = sum_j p[t, j] v[j], p[t, :] = softmax(q[t] . k[j] / sqrt(D)) over segment_start[t] <= j <= t, for each head;
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
`;var cg=`// The shared part of the attention kernels for any adapter; lib/tensor/kernels.ts appends it to each of them.
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
`;var lg=`// The shared part of the attention kernels for subgroups of 8 lanes; lib/tensor/kernels.ts appends it to each of them.
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
`;var fg=`// The shared part of the forward attention kernels for subgroups of 8 lanes, besides attention_slots_subgroup8.wgsl:
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
`;var mg=Be("lanes_subgroup",$h),hg=Be("lanes_workgroup",Oh),dg=Be("gemm_epilogue",Mh),Kn=Be("attention_slices_tiled",cg),Gn=Be("attention_slots_subgroup8",lg),pg=Be("attention_softmax_subgroup8",fg),gg={cross_entropy:Hh,log_probabilities:Gh,qk_norm_rope_backward:Vh,qk_norm_rope_forward:Wh,rms_norm_forward:Ph,adamw:Ih,adamw_rows:Rh,add_rows:Nh,clip_factor:Lh,copy:Ch,embedding_backward:Dh,embedding_forward:Bh,gemm_subgroup8:dg+Be("gemm_subgroup8",Zh),gemm_tiled:dg+Be("gemm_tiled",Uh),limit_rows:Kh,muon_momentum:qh,muon_normalize:jh,muon_update:Fh,reduce_partials:Qh,shift_keys_backward:Yh,shift_keys_forward:Jh,sum_splits:Xh,rms_norm_backward:eg,attention_backward_key_subgroup8:tg+Gn,attention_backward_key_tiled:rg+Kn,attention_backward_query_subgroup8:og+Gn,attention_backward_query_tiled:ng+Kn,attention_decode_subgroup8:sg+Gn+pg,attention_decode_tiled:ig+Kn,attention_forward_subgroup8:ag+Gn+pg,attention_forward_tiled:ug+Kn};var M0=`
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
`;function I0(t,e,r){return r.length===0?e:r.reduce((n,s)=>wg(t,R0(t,n,s),s),za(e))+M0}function R0(t,e,r){let o=new RegExp(`(var<storage[^>]*>\\s*${r}\\s*:\\s*)array<vec4f>`);if(!o.test(e))throw new D(t,`${r} is not an array of vec4f and cannot be bound to an f16 tensor`);return e.replace(o,"$1array<vec2u>")}function wg(t,e,r,o=""){let n="",s=0;for(let i of e.matchAll(new RegExp(`(?<![\\w.])${r}\\b(?!\\s*:\\s*array<vec2u>)`,"g"))){if(i.index<s)continue;let a=i.index+r.length;if(e[a]!=="["){let f=o+e.slice(0,a),d=`${r} is used in another way than ${r}[i] and cannot be f16`;throw $a(t,f,f.split(`
`).length,d)}let u=_g(e,a+1,"]"),c=e.slice(i.index,u+1),l=/^\s*([-+*/]?)=(?!=)\s*/.exec(e.slice(u+1));if(n+=e.slice(s,i.index),l){let[f,d]=l,p=u+1+f.length;s=_g(e,p,";");let m=wg(t,e.slice(p,s),r,o+e.slice(0,p)),g=d?`unpack_half(${c}) ${d} (${m})`:m;n+=`${c} = pack_half(${g})`}else s=u+1,n+=`unpack_half(${c})`}return n+e.slice(s)}function _g(t,e,r){let o=0;for(let n=e;n<t.length;n++){if(o===0&&t[n]===r)return n;"([{".includes(t[n])&&o++,")]}".includes(t[n])&&o--}return t.length}var N0=64,Vn=class{gpu;#e;#t;#r;#o;constructor(e,r={}){this.gpu=e,this.#e=new Map,this.#t=[],this.#o=new Map(Object.entries({...gg,...r.sources}))}get lanes(){return this.gpu.info.subgroupSize??N0}get unusedOutput(){return this.#r??=this.gpu.tensor("unused output",[4])}get numPipelines(){return this.#e.size}get(e,r={},o=[]){let n=`${e} ${JSON.stringify([Object.entries(r).sort(),[...o].sort()])}`,s=this.#e.get(n);return s||(s=this.#n(e,r,o),this.#e.set(n,s)),s}source(e){let r=this.#o.get(e);if(r===void 0)throw new D(e,"it is unknown; register it in lib/tensor/kernels.ts");return r}async ready(){await Promise.all(this.#t.splice(0)),this.gpu.check()}#n(e,r,o){let n=this.source(e),s=zh(e,n);for(let d of Object.keys(r))if(!s.overrides.includes(d))throw new D(e,`override ${d} is unknown`);if(s.usesSubgroups&&this.gpu.info.subgroupSize===void 0)throw new D(e,"it needs subgroups, which the adapter does not have; use its fallback kernel");let{device:i}=this.gpu,a=this.#s(s)+Be(e,I0(e,n,o));i.pushErrorScope("validation");let u=i.createShaderModule({label:e,code:a}),c=i.createBindGroupLayout({label:e,entries:s.bindings.map(({index:d,access:p})=>({binding:d,visibility:GPUShaderStage.COMPUTE,buffer:{type:p==="uniform"?"uniform":p==="read"?"read-only-storage":"storage"}}))}),l=i.createComputePipeline({label:e,layout:i.createPipelineLayout({bindGroupLayouts:[c]}),compute:{module:u,entryPoint:"main",constants:r}}),f=i.popErrorScope();return this.#t.push(L0(e,u,f,a)),{name:e,interface:s,pipeline:l,layout:c}}#s({usesLanes:e,usesSubgroups:r}){let{subgroupSize:o,enablesSubgroups:n}=this.gpu.info,s=n&&(e||r)?`enable subgroups;
`:"";return e?`${s}const LANES = ${this.lanes}u;
${o?mg:hg}`:s}};async function L0(t,e,r,o){let s=(await e.getCompilationInfo()).messages.find(a=>a.type==="error");if(s)throw $a(t,o,s.lineNum,s.message);let i=await r;if(i)throw new D(t,i.message)}function xg(t,e){return aa[mo(t)]/e}function yg(t,e){let r=[];for(let o of t)for(let n=o.firstRow;n<o.endRow;){let s=r.at(-1),i=s?.firstKey===o.firstKey&&s.endRow-s.firstRow<e,a=i?s:{...o,firstRow:n};i&&r.pop();let u=Math.min(a.firstRow+e,o.endRow);r.push({...a,endKey:Math.max(a.endKey,o.endKey),endRow:u}),n=u}return r}function bg(t,e){let{q:r,promptK:o,promptV:n,suffixK:s,suffixV:i,rowKeys:a,tiles:u,out:c}=e,{numRows:l,numSteps:f,numHeads:d,headDim:p,numTiles:m}=e,g=mo(t.registry.gpu.info),h=`attention_decode_${g}`;ua(h,p);let _=d*p;S(h,_,{promptK:o,promptV:n,suffixK:s,suffixV:i}),S(h,l*_,{q:r,out:c}),S(h,(1+f)*l,{rowKeys:a}),S(h,m*4,{tiles:u});let x={num_rows:l,num_heads:d,num_steps:f};t.add({kernel:h,overrides:{HEAD_DIM:p},bindings:{q:r,k:o,v:n,suffix_k:s,suffix_v:i,row_keys:a,tiles:u,out:c},params:g==="subgroup8"?{...x,slot_parts:32}:{...x,slice_parts:8,tile_rows:512/p},grid:[m,d]})}var C0=32;function gt(t){let e=Math.max(C0,2**(Math.floor(Math.log2(Math.max(1,t)))-3));return Math.ceil(t/e)*e}function Oa(t,e){return go(r=>Wn(t,e,r))-go(r=>Ct(t,r))}function Pa(t,e,r){return Oa(t,e)<=r.limitBytes&&cr(o=>Wn(t,e,o))<=r.bufferBytes}function Wn(t,e,r){let{width:o,numHeads:n,headDim:s}=t,i=gt(e.maxRows),a=gt(e.maxPromptTokens),u=Math.max(i,a),c=wa(t,{rows:u,training:!1},r),l=Array.from({length:t.numLayers},(f,d)=>ur(r,`layer ${d} `));return{parameters:Ct(t,r),inputs:{tokens:r("tokens",[u]),segmentStart:r("segmentStart",[a]),previous:t.keyShift?r("previous",[u]):void 0,embeddingRows:ye(t)>0?r("rows of tokens",[u,ne]):void 0},positions:r("positions",[u]),rotation:r("rotation",[u,s]),chosenRotation:r("chosen rotation",[u,s]),tiles:r("tiles",[i,4]),rowKeys:r("keys of rows",[1+e.maxSteps,i]),promptLayers:l.map(f=>({...c,kUnshifted:t.keyShift?f("prompt k unshifted",[a,n,s]):void 0,kRotated:f("prompt k",[a,n,s]),v:f("prompt v",[a,n,s])})),suffixes:l.map(f=>({k:f("suffix k",[e.maxSteps,i,n,s]),kUnshifted:t.keyShift?f("suffix k unshifted",[e.maxSteps,i,n,s]):void 0,v:f("suffix v",[e.maxSteps,i,n,s])})),head:{xLast:c.x,xLastNorm:r("xLastNorm",[u,o]),xLastScale:r("xLastScale",[u])},chosen:{positions:r("chosen positions",[u]),picked:r("chosen hidden states",[u,o]),logits:r("chosen logits",[u,Lt(t)]),rowIndex:r("rows",[u]),logProbabilities:r("log-probabilities",[u,K(t)])}}}function vg(t,e){let{tensors:r,numWanted:o}=e,n=kg(t,e,r.promptLayers),s=o===void 0?{}:{wanted:D0(e,o)};ar(t,{...n,...s})}function Sg(t,e){let{config:r,tensors:o,rows:n,step:s,numTiles:i}=e,{promptLayers:a,suffixes:u,rowKeys:c}=o,{numHeads:l,headDim:f}=r,d=s*c.shape[1]*l*f*4,p=g=>({...g,shape:[n,l,f],offsetBytes:d}),m=a.map((g,h)=>({...g,kRotated:p(u[h].k),kUnshifted:u[h].kUnshifted&&p(u[h].kUnshifted),v:p(u[h].v)}));ar(t,{...kg(t,e,m),earlierKeys:g=>{let h=(s===0?a:u)[g].kUnshifted;return b(h,"a model without keyShift has no keys before their shift"),h},addAttention:(g,h)=>Eg(g,e,{layer:h,numRows:n,numTiles:i,numSteps:s+1})})}function kg(t,{config:e,tensors:r,rows:o},n){let{parameters:s,inputs:i,head:a,positions:u,rotation:c}=r,l=Rn(t,e);return Ot(t,{tokens:u,table:l,x:c,rows:o,width:e.headDim}),{config:e,extent:{batchSize:1,sequenceLength:o,training:!1},tensors:{operands:s,inputs:i,head:a,layers:n},rotation:c}}function D0(t,e){let{promptLayers:r,chosen:o,chosenRotation:n}=t.tensors,s=r.length-1;return{rows:e,index:o.positions,x:o.picked,xNorm:r[s].xMiddleNorm,rotation:n,addAttention:i=>Eg(i,t,{layer:s,numRows:e,numTiles:e,numSteps:0})}}function Eg(t,{config:e,tensors:r},{layer:o,...n}){let{promptLayers:s,suffixes:i,rowKeys:a,tiles:u}=r,{qRotated:c,kRotated:l,v:f,attention:d}=s[o];bg(t,{q:c,promptK:l,promptV:f,out:d,suffixK:i[o].k,suffixV:i[o].v,rowKeys:a,tiles:u,numHeads:e.numHeads,headDim:e.headDim,...n})}var Ma=class{#e=[];#t=0;#r=[];#o=0;#n=[];get children(){return this.#r}get numRows(){return this.#o}get numSteps(){return this.#n.length}begin(e){this.#e=e,this.#r=[],this.#o=0}fork(e,r){b(e.length===this.#e.length,`${e.length} numbers of children`),this.#t=r,this.#n=[],this.#s(e)}branch(e){let r=e.every((n,s)=>s===0||e[s-1]<=n);b(r&&e[e.length-1]<this.#o,`parents ${e}`);let o=this.#r.map(({firstRow:n,endRow:s})=>e.reduce((i,a)=>a>=n&&a<s?i+1:i,0));this.#s(o),this.#n=this.#n.map(n=>e.map(s=>n[s]))}nextPositions(e){let r=new Uint32Array(e);for(let{firstKey:o,endKey:n,firstRow:s,endRow:i}of this.#r)r.fill(n-o+this.numSteps,s,i);return r}previousKeys(e){let r=new Uint32Array(e),o=this.#n.at(-1);if(o)r.set(o);else for(let{endKey:n,firstRow:s,endRow:i}of this.#r)r.fill(n-1,s,i);return r}append(e){this.#n.push(Uint32Array.from({length:this.#o},(r,o)=>e+o))}rowKeys(e){let r=new Uint32Array((1+this.numSteps)*e);for(let{endKey:o,firstRow:n,endRow:s}of this.#r)r.fill(o,n,s);return this.#n.forEach((o,n)=>r.set(o,(1+n)*e)),r}#s(e){let r=this.#t,o=0;this.#r=this.#e.map(({firstKey:n,endKey:s},i)=>{b(r<s-n,`a prompt has no ${r} tokens and one before`);let a=o+e[i],u={firstKey:n,endKey:s-r,firstRow:o,endRow:a};return o=a,u}),this.#o=o}};function B0(t,e){let r=0;return e.map((o,n)=>{for(;o>=t[r].endKey;)r++;return{firstKey:t[r].firstKey,endKey:o+1,firstRow:n,endRow:n+1}})}var Ia=class{#e;#t;#r;#o=[];#n=[];#s=[];#i=[];constructor(e,r,o){this.#e=e,this.#t=r,this.#r=o}load(e){this.#t.load(e)}writePrompts(e,r,{recents:o=[],ends:n}){this.#o=e,this.#s=n,this.#n=o;let s=new Uint32Array(r*ne).fill($),i=0;e.forEach((a,u)=>{let c=new ht(this.#t);for(let l=0;l<a.length;l++,i+=ne)c.read(a[l],s,i,this.#a(u,l))}),this.#e.write(this.#r,s)}fork(e,r){let o=new Uint32Array(ne),n=0;this.#i=this.#o.flatMap((s,i)=>{let a=new ht(this.#t),u=0;return this.#s[i].flatMap(c=>{for(;u<c-r;u++)a.read(s[u],o,0,this.#a(i,u));return Array.from({length:e[n++]},()=>a.clone())})})}branch(e){this.#i=Array.from(e,r=>this.#i[r].clone())}writeStep(e,r){let o=new Uint32Array(r*ne).fill($);this.#i.forEach((n,s)=>n.read(e[s],o,s*ne)),this.#e.write(this.#r,o)}#a(e,r){let o=this.#n[e],n=r===this.#o[e].length-1;return o&&n?{isTraining:!1,context:0,recent:o}:void 0}},Z0=128,Ag="lower the decoder's maxPromptTokens, maxRows or maxSteps",Yn=class t{registry;config;extent;#e;#t;#r;#o;#n;constructor(e,r,o,n){this.registry=e,this.config=r,this.extent=o,this.#t=new Map,this.#r=new Ma,this.#o=0,this.#e=n;let{embeddingRows:s}=n.inputs;this.#n=s&&new Ia(e.gpu,new mt(r),s);let{rowIndex:i}=n.chosen;e.gpu.write(i,Uint32Array.from({length:i.shape[0]},(a,u)=>u))}static async create(e,{config:r,weights:o},n){let{memoryLimitBytes:s,...i}=n,a=Oa(r,i);if(a>s)throw new y(`Cannot allocate the decoder: it takes ${it(a)} besides the weights, expected at most ${it(s)}; ${Ag}, or raise its memory limit`);let{gpu:u}=e,c=await Dn(u,f=>Wn(r,i,f),{what:"the decoder",remedy:Ag}),l=new t(e,r,i,c);return l.load(o),l}load(e){let{parameters:r}=this.#e;Bn(this.registry.gpu,this.config,{parameters:r,weights:e}),this.#n?.load(e)}async prefill(e,r={}){let{numLast:o=1,recents:n,ends:s=e.map(({length:M})=>[M])}=r,{config:i}=this,{gpu:a}=this.registry,u=this.#e,c=e.reduce((M,{length:k})=>M+k,0);this.#f("prompt tokens",c,this.extent.maxPromptTokens);let l=gt(c),f=new Uint32Array(l),d=new Uint32Array(l),p=new Uint32Array(l),m=[],g=[],h=0;for(let[M,k]of e.entries()){let I=o===1/0?k.length:o;b(k.length>=I,`a prompt of ${k.length} tokens has no ${o} last ones`),this.#l(k.length-1);let L=h+k.length;f.set(k,h);for(let q=h;q<L;q++)d[q]=q-h;p.fill(h,h,L);let G=h;for(let q of s[M]){let $e=h+q-(o===1/0?q:o);b($e>=G,`ends ${s[M]} of a prompt are less than ${o} tokens apart`),G=h+q;for(let Xe=$e;Xe<G;Xe++)m.push(Xe);g.push({firstKey:h,endKey:G})}b(G<=L,`ends ${s[M]} of a prompt of ${k.length} tokens`),h=L}this.#r.begin(g),this.#n?.writePrompts(e,l,{recents:n,ends:s}),p.fill(h,h),this.#a(f,d),a.write(u.inputs.segmentStart,p),this.#i(()=>Ln(p,l)),a.write(u.chosen.positions,Uint32Array.from(m));let _=gt(m.length),x=_<=u.tiles.shape[0];x&&(this.#s(B0(g,m),_),a.write(u.rowKeys,Uint32Array.from(m,M=>M+1)));let A=this.#c(x?`prefill ${l} for ${_}`:`prefill ${l}`,M=>vg(M,{config:i,tensors:u,rows:l,numWanted:x?_:void 0}));return await this.#u(A,m.length,x?void 0:m)}fork(e,r={}){let o=e.reduce((s,i)=>s+i,0);this.#f("rows",o,this.extent.maxRows);let{numDropped:n=0}=r;this.#r.fork(e,n),this.#n?.fork(e,n),this.#s(this.#r.children)}async step(e,r){b(this.#r.numRows>0,"a step needs rows: call fork() before");let o=r?.length??this.#r.numRows;b(e.length===o,`${e.length} tokens for ${o} rows`);let n=this.#r.numSteps;this.#f("steps",n+1,this.extent.maxSteps),this.#f("rows",o,this.extent.maxRows),r&&(this.#r.branch(r),this.#n?.branch(r),this.#s(this.#r.children));let s=gt(o),i=new Uint32Array(s);i.set(e);let a=this.#r.nextPositions(s);for(let m of a)this.#l(m);this.#a(i,a),this.#n?.writeStep(e,s),this.#i(()=>this.#r.previousKeys(s));let{config:u}=this,c=this.#e,{rowKeys:l}=c;this.#r.append(n*l.shape[1]),this.registry.gpu.write(l,this.#r.rowKeys(s));let f=this.#o,d=`step ${n} of ${s} rows in ${f} tiles`,p=m=>Sg(m,{config:u,tensors:c,rows:s,step:n,numTiles:f});return await this.#u(this.#c(d,p),o)}#s(e,r){let{gpu:o}=this.registry,n=yg(e,xg(o.info,this.config.headDim));this.#o=r??Math.min(gt(n.length),this.#e.tiles.shape[0]);let s=new Uint32Array(this.#o*4);n.forEach((i,a)=>s.set([i.firstKey,i.endKey,i.firstRow,i.endRow],a*4)),o.write(this.#e.tiles,s)}#i(e){let r=this.#e.inputs.previous;r&&this.registry.gpu.write(r,e())}#a(e,r){let{gpu:o}=this.registry,n=K(this.config);b(e.every(s=>s<n),`there is a token that is not below ${n}`),o.write(this.#e.inputs.tokens,e),o.write(this.#e.positions,r)}async#u(e,r,o){let{gpu:n}=this.registry,{config:s}=this,i=gt(r),{chosen:a,head:u,parameters:c}=this.#e,l=this.#c(`head of ${i}, ${o?"chosen":"all"}`,_=>dh(_,{config:s,hiddenStates:u.xLastNorm,operands:c,tensors:o?a:{...a,positions:a.rowIndex},rows:i})),f={...a.logProbabilities,shape:[r,K(s)]},d=o?(o.at(-1)??-1)+1:r,p=_=>{e.encode(_),l.encode(_)},m=[f,{...u.xLastScale,shape:[d]}],[g,h]=await n.readAfter(p,...m);return await this.registry.ready(),Om(g,o?o.map(_=>h[_]):[...h]),g}#c(e,r){let o=this.#t.get(e),n=o??new Te(this.registry,e);if(o||r(n),this.#t.delete(e),this.#t.set(e,n),this.#t.size>Z0){let[[s,i]]=this.#t;this.#t.delete(s),i.destroy()}return n}#l(e){let{sequenceLength:r}=this.config;if(!(e<r))throw new y(`Cannot decode: position ${e} was asked for, expected at most ${r-1}; shorten the prompt or use a model with longer sequences`)}#f(e,r,o){if(!(r<=o))throw new RangeError(`Cannot decode: ${r} ${e} were asked for, expected at most ${o}; create a larger decoder`)}};function se(t,e,r=267){return t.subarray(e*r,(e+1)*r)}var lr=-1;function Jn(t,e){let r=Float64Array.from(e,(s,i)=>s===lr?lr:t[i]*65536+s),o=Float64Array.from(new Set(r.filter(s=>s>=0))).sort(),n=new Map(Array.from(o,(s,i)=>[s,i]));return{tokens:Uint16Array.from(o,s=>s%2**16),parents:Uint32Array.from(o,s=>Math.floor(s/2**16)),rows:Uint32Array.from(r,s=>n.get(s)??0)}}var Xn=class{#e=[];#t;constructor(e){this.#t=e}get first(){return this.#e[0]}add(e){let r=this.#e,o=r.push(e)-1;for(;o>0;){let n=o-1>>1;if(!this.#t(e,r[n]))break;r[o]=r[n],o=n}r[o]=e}removeFirst(){let e=this.#e.pop();e===void 0||this.#e.length===0||(this.#e[0]=e,this.sinkFirst())}sinkFirst(){let e=this.#e,r=e[0],o=0;for(let n=1;n<e.length&&(n+1<e.length&&this.#t(e[n+1],e[n])&&n++,!!this.#t(e[n],r));n=2*o+1)e[o]=e[n],o=n;e[o]=r}};function xo(t,e){let r=0,o=t;for(;r<o;){let n=Math.floor((r+o)/2);e(n)?o=n:r=n+1}return r}var Tg=47;var $P=new Uint16Array(9);function zg(t){return t?q0(t):U0}var U0={maxMeasurementTokens:Tg,divide:t=>[t],write({measurements:t},e,r,o){let n=new He(e,r);for(let s of t){let i=n.at;n.write(s,s.order),!(!o||s.rttCode===null||!s.rttHistory)&&mp(s.rttHistory,o,e.indexOf(8,i)*dn)}return n.at}};function q0(t){let e=cn(t);return{maxMeasurementTokens:55,divide:({mode:r,measurements:o})=>o.map(n=>({mode:r,measurements:[n],numTokens:tr(n)})),write({measurements:r},o,n){let s=new rr(o,e);s.at=n;for(let i of r)s.writeFields(i,i.order);return s.at}}}var Dt=Float64Array.from(le,hn),Pg=6e4,$g=Dt.findIndex(t=>t>Pg),j0=.01,Ve=class{probabilities=new Float64Array(le.length);cumulative=new Float64Array(le.length)},_t=class t{pFailed;probabilities;canonicalMass;spreadMass;#e;constructor(e,r,o,n=0,s=new Float64Array(r.length)){this.pFailed=e,this.probabilities=r,this.canonicalMass=o,this.spreadMass=n,b(r.length===le.length,"one probability per canonical code"),this.#e=s;let i=0;for(let a=0;a<r.length;a++)s[a]=i+=r[a]}copy(){let{pFailed:e,probabilities:r,canonicalMass:o,spreadMass:n}=this;return new t(e,r.slice(),o,n)}get meanMs(){let e=this.withinPingLimit;if(e===0)return Pg;let r=0;for(let o=0;o<$g;o++)r+=this.probabilities[o]*Dt[o];return r/e}get withinPingLimit(){return this.#e[$g-1]}probabilityOf(e){return this.probabilities[this.indexOf(e)]}cdf(e){return this.#e[this.indexOf(e)]}indexOf(e){return Og(le,De(e))}quantileMs(e){if(!(e>=0&&e<=1))throw new RangeError(`Cannot take quantile ${e}: expected 0 to 1`);return this.#t(e*this.#e[this.#e.length-1])}likeliest(){let e=0,r=0,o=0,n=0;for(let i=0;i<Dt.length;i++){for(n+=this.probabilities[i];Dt[i]>Dt[o]*(1+j0);)n-=this.probabilities[o++];n>e&&(e=n,r=o)}let s=r===0?0:this.#e[r-1];return{rttMs:this.#t(s+e/2),probability:e}}histogram(e){let r=Math.log(this.quantileMs(.005)*.999),o=Math.log(this.quantileMs(.995)*1.001),n=i=>Math.exp(r+(o-r)*i/e),s=Array.from({length:e},(i,a)=>({lowMs:n(a),highMs:n(a+1),probability:0}));for(let i=0;i<this.probabilities.length;i++)this.probabilities[i]>0&&F0(s,le[i],this.probabilities[i]);return s}#t(e){return Dt[Math.min(Og(this.#e,e),Dt.length-1)]}};function F0(t,e,r){let o=gn(e);if(o.highMs<=t[0].lowMs||o.lowMs>=t[t.length-1].highMs)return;let n=o.highMs-o.lowMs,s=Math.log(t[0].highMs/t[0].lowMs),i=Math.floor(Math.log(Math.max(o.lowMs,t[0].lowMs)/t[0].lowMs)/s);for(let a=Math.max(0,i-1);a<t.length&&t[a].lowMs<o.highMs;a++){let u=Math.min(o.highMs,t[a].highMs)-Math.max(o.lowMs,t[a].lowMs);u>0&&(t[a].probability+=r*u/n)}}function Og(t,e){return xo(t.length,r=>t[r]>=e)}var J=[...new Set([...le].map(t=>t>>8))],H0=J.map(t=>11+t),Mg=[8,10],dr=Array.from({length:256},(t,e)=>[...le].filter(r=>r>>8===e).map(r=>r&255));function Qn(t){return dr[t]}function Ig(t,e=new Ve){let{outcome:r,first:o,seconds:n,expanded:s}=t,{probabilities:i,cumulative:a}=e,u=We(o,J),c=0,l=0,f=0,d=0;J.forEach((m,g)=>{let h=u.probabilities[g],_=dr[m].length;if(s[d]===g){let x=i.subarray(f,f+=_);c+=h*u.mass*Cg(x,se(n,d++),dr[m]);for(let A=0;A<_;A++)x[A]*=h}else c+=h*u.mass,l+=h,i.fill(h/_,f,f+=_)});let p=yo(r);return new _t(p,i,c,l,a)}function yo(t){return 1/(1+Math.exp(t[8]-t[10]))}function Rg(t,{outcome:e,first:r,second:o}){if(t===null)return fr(e,10,Mg);let[n,s]=[t>>8,t&255];return fr(e,8,Mg)+fr(r,11+n,H0)+fr(o,11+s,dr[n].map(i=>11+i))}function Ng([t,e],{first:r,ofLow:o,ofHigh:n}){let s={below:0,within:0},{probabilities:i}=We(r,J);return J.forEach((a,u)=>{if(a!==t>>8&&a!==e>>8){a<t>>8?s.below+=i[u]:a<e>>8&&(s.within+=i[u]);return}let c=We(a===t>>8?o:n,dr[a]).probabilities;dr[a].forEach((l,f)=>{let d=a<<8|l;d<t?s.below+=i[u]*c[f]:d<=e&&(s.within+=i[u]*c[f])})}),s}function fr(t,e,r){let o=-1/0;for(let s of r)o=Math.max(o,t[s]);let n=0;for(let s of r)n+=Math.exp(t[s]-o);return t[e]-o-Math.log(n)}function Lg(t,{maxSpreadMass:e,code:r}){let{probabilities:o}=We(t,J),s=J.keys().toArray().toSorted((u,c)=>o[c]-o[u]),i=new Set(r===null?[]:[J.indexOf(r>>8)]),a=1;for(let u of s){if(a<=e)break;i.add(u),a-=o[u]}return[...i].sort((u,c)=>u-c)}function We(t,e){let r=new Float64Array(e.length);return{mass:Cg(r,t,e),probabilities:r}}function Cg(t,e,r){let o=0;for(let n=0;n<r.length;n++)o+=t[n]=Math.exp(e[11+r[n]]);for(let n=0;n<r.length;n++)t[n]/=o;return o}var K0=8192,G0=1024;function V0(t){return zg(Tn(t)).maxMeasurementTokens-1}function Ra(t,e){for(let r=K0;;r/=2){let o={maxPromptTokens:Math.max(r,t.sequenceLength),maxRows:Math.max(r,J.length),maxSteps:2};if(r<J.length||Pa(t,o,e))return o}}var W0=8;function Dg(t,e){for(let r=G0;;r/=2){let n={maxPromptTokens:Math.max(t.sequenceLength,W0*r),maxRows:r,maxSteps:V0(t)};if(r<=32||Pa(t,n,e))return n}}function*es(t,{maxPromptTokens:e,maxRows:r},o){let n=[],s=0;for(let i of t)(s+i.length>e||(n.length+1)*o>r)&&n.length>0&&(yield n,n=[],s=0),n.push(i),s+=i.length;n.length>0&&(yield n)}async function Y0(t,e,r){let o=K(t.config),n=e.flatMap(({continuations:u})=>[...u]),s=Uint32Array.from(e.flatMap(({continuations:u},c)=>u.map(()=>c))),i=(u,c)=>l=>{n.forEach((f,d)=>{u<f.length&&r(se(l,c[d],o),d,u)}),t.registry.gpu.recycle(l)},a=[t.prefill(e.map(({prompt:u})=>u)).then(i(0,s))];t.fork(e.map(()=>1));for(let u=1;;u++){let c=Jn(s,n.map(l=>u<l.length?l[u-1]:lr));if(c.tokens.length===0)break;s=c.rows,a.push(t.step(c.tokens,c.parents).then(i(u,s)))}await Promise.all(a)}function*J0(t,{maxPromptTokens:e,maxRows:r}){let o=[],n=0,s=0;for(let{prompt:i,continuations:a}of t)for(let u=0;u<a.length;){!(n+i.length<=e&&s<r)&&o.length>0&&(yield o,o=[],n=0,s=0);let l=a.slice(u,u+r-s);o.push({prompt:i,continuations:l}),n+=i.length,s+=l.length,u+=l.length}o.length>0&&(yield o)}var ts=class{#e;#t;#r;#o;constructor(e,r){this.#e=e,this.#t={limitBytes:r,bufferBytes:Nt(e.registry.gpu.device)};let o=n=>Yn.create(e.registry,e,{...n,memoryLimitBytes:r});this.#r=new rs(()=>o(Ra(e.config,this.#t))),this.#o=new rs(()=>o(this.continuationExtent))}get continuationExtent(){return Dg(this.#e.config,this.#t)}async withPrompts(e,r,o){let n=Ra(this.#e.config,this.#t),s=0;for(let i of es(e,n,r))await this.#r.run(a=>o(a,i,s)),s+=i.length}async continuePrompts(e,r){return await this.#o.run(async o=>{let n=await o.prefill(e),s=await r(o,n);return o.registry.gpu.recycle(n),s})}async tokenLogProbabilities(e,r){let o=K(this.#e.config),n=[],s=e.map(i=>i.subarray(0,-1));return await this.withPrompts(s,1,async(i,a)=>{let u=await i.prefill(a,{numLast:r}),c=0;for(let{length:l}of a){let f=e[n.length].subarray(-Math.min(r,l));n.push(Float32Array.from(f,d=>u[c++*o+d]))}i.registry.gpu.recycle(u)}),n}async visitContinuations(e,r){let o=0;for(let n of J0(e,this.continuationExtent)){let s=o;await this.#o.run(i=>Y0(i,n,(a,u,c)=>r(a,s+u,c)));for(let{continuations:i}of n)o+=i.length}}async continuationLogProbabilities(e,r){let o=e.flatMap(({prompt:s,continuations:i})=>i.map(a=>({tokens:a,places:r?.(a,s)}))),n=o.map(({tokens:s})=>new Float32Array(s.length));return await this.visitContinuations(e,(s,i,a)=>{let{tokens:u,places:c}=o[i],l=c?.[a];n[i][a]=l?fr(s,u[a],l):s[u[a]]}),n}async reload(){let{weights:e}=this.#e;await Promise.all([this.#r,this.#o].map(r=>r.reload(e)))}},rs=class{#e;#t;#r=Promise.resolve();constructor(e){this.#e=e}async run(e){return await this.#o(async()=>await e(await(this.#t??=this.#e())))}async reload(e){await this.#o(async()=>(await this.#t)?.load(e))}async#o(e){let r=this.#r.then(e);return this.#r=r.catch(()=>{}),await r}};var Bg=2**32-1;function ge(t,e){let{source:r,destination:o,timeS:n,context:s}=t;return bo({source:r,destination:o,rttCode:null,timeS:n},{context:s,order:st,sequenceLength:e}).subarray(0,-1)}function bo(t,e){let{context:r,order:o,sequenceLength:n}=e,{source:s,destination:i}=t;if(s.length!==i.length)throw new y(`Cannot ask for an RTT from IPv${s.length===4?4:6} to IPv${i.length===4?4:6}: expected two addresses of one version`);let a=new Uint16Array(n+1),u=new He(a),c=Bt({...t,context:r},n);Na(c,t.timeS);for(let l of c)u.write(l,st);return u.write(t,o),a.subarray(0,u.at)}function Na(t,e){let r=null;for(let{timeS:o}of[...t,{timeS:e}]){if(e!==null&&o!==null&&o>e)throw new y(`Cannot ask about Unix time ${e}: found a measurement of ${o} in its context, expected none after it`);if(r!==null&&o!==null&&o-r>Bg)throw new y(`Cannot ask about times ${o-r} s apart: expected at most ${Bg} s between two measurements`);r=o??r}}function Bt(t,e){let{source:r,destination:o,timeS:n,context:s}=t,i={source:r,destination:o,rttCode:null,timeS:n},a=e-1,u=Math.max(0,s.length-Math.ceil(a/11));for(let c=u;c<=s.length;c++){let l=null,f=0;for(let d of[...s.slice(c),i])f+=Fe(d,l),l=d.timeS??l;if(f<=a)return s.slice(c)}throw new y(`Cannot ask: a measurement does not fit the model's sequence of ${e} tokens; use a model with longer sequences`)}var X0=new Ve,Q0=J.keys().toArray();async function Zg(t,{prompts:e,recents:r},o,n){await t.withPrompts(e,J.length,async(s,i,a)=>{let u=r.slice(a,a+i.length),c=s.prefill(i,{numLast:2,recents:u}),l=i.map(()=>Q0);if(n){let{maxSpreadMass:g,codes:h}=n,_=await c;l=i.map((x,A)=>Lg(se(_,2*A+1),{maxSpreadMass:g,code:h[a+A]}))}s.fork(l.map(({length:g})=>g));let f=s.step(l.flat().map(g=>11+J[g])),[d,p]=await Promise.all([c,f]),m=0;l.forEach((g,h)=>{let _={outcome:se(d,2*h),first:se(d,2*h+1),expanded:g,seconds:p.subarray(m*267,(m+=g.length)*267)};o(Ig(_,X0),a+h)}),s.registry.gpu.recycle(d,p)})}var Ug=Date.UTC(1990,0,1)*1e3,qg=Date.UTC(2100,0,1)*1e3;var Kg=/^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(?:Z|([+-]\d\d)(?::?(\d\d))?)?)?$/,vo={seconds:1e6,milliseconds:1e3,microseconds:1,nanoseconds:.001},jg="",Fg=!1;function os(t,e="seconds"){let r=/^\d+(?:\.\d+)?$/.test(t),o=r?Math.round(Number(t)*vo[e]):eS(t);if(Hg(o))return{timeUs:o};if(Number.isNaN(o))return{fault:`${Kg.test(t)?"there is no such date or time":"it is not a time"}, expected a time as ISO 8601 or Unix ${e}`};let n=r&&Object.keys(vo).find(i=>Hg(+t*vo[i]));if(!n)return{fault:"expected a time from 1990 to 2099"};let s=Math.floor(+t*vo[n]/vo[e]);return{fault:`these look like ${n}, expected Unix ${e}, such as ${s}`}}function Hg(t){return t>=Ug&&t<qg}function eS(t){let e=Kg.exec(t);if(!e)return NaN;let[,r,o="00:00",n="+00",s="00"]=e;if(r!==jg){let u=Date.parse(`${r}T00:00Z`);Fg=!Number.isNaN(u)&&new Date(u).toISOString().startsWith(r),jg=r}if(!Fg)return NaN;let[i,a=""]=o.split(".");return Date.parse(`${r}T${i}${n}:${s}`)*1e3+Number(a.slice(0,6).padEnd(6,"0"))}var tS=["src","dst","time","context"],rS=["src","dst","time","rtt"],oS=80;function ns(t){let{src:e,dst:r,time:o,context:n}=Yg(t,tS),s=[],i=Gg("src",e,s),a=Gg("dst",r,s);return{source:i,destination:a,timeS:Xg(o),context:iS(n,s),notes:s}}function Wg(t){let{source:e,destination:r,timeS:o,context:n}=La(t);for(let s of[e,r])if(!ee(s))throw new y(`Cannot give one exact distribution for ${Ke(s)}: expected two addresses; use rttBetweenPrefixes`);return{source:e.bytes,destination:r.bytes,timeS:o,context:n}}function La(t){let{source:e,destination:r,timeS:o,context:n}=ns(t);return{source:e,destination:r,timeS:o,context:n??[]}}function nS(t){if(om(t))return`${t} has bits after the prefix: taken as ${Ke(Qi(t))}`}function Yg(t,e){let r=Object.keys(t).find(o=>!e.includes(o));if(r===void 0)return t;throw new y(`found ${Ss(r)}, expected only ${e.join(", ")}`)}function Gg(t,e,r){let o=Jg(t,e,"address or prefix");try{let n=Qi(o),s=nS(o);return s!==void 0&&r.push(s),n}catch(n){throw n instanceof y?new y(`${t}: ${n.message}`):n}}function Vg(t,e){let r=Jg(t,e,"address"),o=On(r);if(o)return o;throw new y(`found ${t} ${Ye(r)}, expected an IPv4 or IPv6 address${oo(r)}`)}function Jg(t,e,r){if(typeof e=="string"&&e!==""&&e.length<=oS)return e;let o=e===void 0||e===""?`no ${t}`:`${t} ${Ye(e)}`;throw new y(`found ${o}, expected an IPv4 or IPv6 ${r}`)}function sS(t){let e=os(t);return"fault"in e?e:{timeS:Math.floor(e.timeUs/1e6)}}function Xg(t){if(t==null||t==="")return null;let e=sS(typeof t=="string"||typeof t=="number"?String(t):"");if("timeS"in e)return e.timeS;throw new y(`found time ${Ye(t)}, ${e.fault}`)}function iS(t,e){if(t==null)return null;if(!Array.isArray(t))throw new y(`found context ${Ye(t)}, expected an array of measurements`);let r=t.map((o,n)=>{try{return So(o)}catch(s){throw s instanceof y?new y(`context[${n}]: ${s.message}`):s}});return uS(r,e)}function So(t){if(typeof t!="object"||t===null)throw new y("found no JSON object, expected one with src, dst, time and rtt");let{src:e,dst:r,time:o,rtt:n}=Yg(t,rS),s=Vg("src",e),i=Vg("dst",r);if(s.length!==i.length)throw new y("found addresses of different IP versions, expected two of one version");return{source:s,destination:i,rttCode:aS(n),timeS:Xg(o)}}function aS(t){if(t===null)return null;if(typeof t=="number"&&t>=0&&t<1/0)return De(t);let e=t===void 0?"no rtt":`rtt ${Ye(t)}`;throw new y(`found ${e}, expected ms of 0 or more, or null for no reply`)}function Ye(t){return typeof t=="object"&&t!==null?Array.isArray(t)?"an array":"an object":JSON.stringify(typeof t=="string"?Ss(t):t)}function uS(t,e){let r=t.map(({timeS:o})=>o).filter(o=>o!==null);if(r.length>0&&r.length<t.length)throw new y("found context with a time in some measurements only, expected it in all or none");return r.every((o,n)=>n===0||o>=r[n-1])?t:(e.push("the context is not in order of time: it was sorted"),t.toSorted((o,n)=>(o.timeS??0)-(n.timeS??0)))}var cS=2**30;function lS({directory:t,config:e}){let{vocabulary:r}=e.model;if(r!=="v2")throw new Q(`the model has vocabulary ${r}, expected v2; train one with v2, or ask only for likelihoods (query likelihood, eval)`,{path:t})}var ss=class t{config;registry;step;decoders;calibration;#e;#t;constructor(e,r,o,n,{memoryLimitBytes:s=cS,calibration:i,adapted:a,trainingData:u}){this.config=e,this.registry=r,this.step=n,this.#t=new Ve,this.#e=new jn(e,o,{adapted:a,trainingData:u}),this.calibration=i,this.decoders=new ts(this,s)}static async from(e,r={}){r.anyVocabulary||lS(e),r.calibration?.requireOf(e);let{config:o,weights:n,state:s}=e,i=new Vn(await wo.open()),{adapted:a,trainingData:u}=e;return new t(o.model,i,n,s.step,{...r,adapted:a,trainingData:u})}static of(e,r,{weights:o,...n}){return new t(e,r,o,0,n)}get weights(){return this.#e.weights}get trainingData(){return this.#e.trainingData}get gpu(){return this.registry.gpu}async rttDistribution(e){return(await this.rttDistributions(["source"in e?e:Wg(e)]))[0]}async rttDistributions(e){let r=[];return await this.likelyRttDistributions(e,o=>r.push(o.copy())),r}async likelyRttDistributions(e,r,o){let{sequenceLength:n}=this.config,s={prompts:e.map(a=>Uint16Array.of(...ge(a,n),8)),recents:e.map(({recent:a})=>a?.flatMap(({rttCode:u,timeS:c})=>u===null?[]:[{rttCode:u,timeS:c}]))},i=(a,u)=>r(this.calibration?.apply(a,this.#t)??a,u);await Zg(this.decoders,s,i,o)}async adapt(e,r={}){let o=e.map(s=>"source"in s?s:So(s)),n=await this.#e.fit(this.registry,o,r);return await this.decoders.reload(),n}close(){this.gpu.close()}[Symbol.dispose](){this.close()}};var Ca=zi([z(),v()]).nullish(),ko=z({error:"expected an IPv4 or IPv6 address"}),fS=v().min(0).max(1);function mr(t){let e=`expected only ${Object.keys(t).join(", ")}`;return vt(t,{error:({code:r})=>r==="unrecognized_keys"?e:void 0})}var pr=mr({src_addr:ko,dst_addr:ko,timestamp:Ca,rtt:v().min(0).nullable()}),Da=mr({quantiles:Y(fS).max(200).optional(),at:Y(v().min(0)).max(200).optional(),cdf:P().min(2).max(1e3).optional()}),e_=mr({src_addr:ko,dst_addr:ko,timestamp:Ca,context:Y(pr).optional(),...Da.shape,draws:P().min(2).max(2**12).optional(),seed:P().min(0).max(2**32-1).optional()}),is=R({measurements:P(),in_adaptation:P(),last_seen:z().nullable()}),dS=R({kind:Ue(["pair","addresses","source","destination","network"]),text:z(),src:is,dst:is,pair:is}),IM=R({src_addr:z(),dst_addr:z(),timestamp:v().nullable(),context_measurements:P(),p_failed:v(),mean_ms:v(),likeliest:R({rtt_ms:v(),probability:v()}),quantiles_ms:St(z(),v()),canonical_mass:v(),at:Y(R({rtt_ms:v(),cdf:v(),probability:v(),low_ms:v(),high_ms:v().nullable(),bits:v().nullable()})).optional(),cdf:Y(R({rtt_ms:v(),cdf:v()})).optional(),drawn:R({num_draws:P(),num_distinct:P(),source_probability:v().nullable(),destination_probability:v().nullable(),standard_errors:R({p_failed:v(),mean_ms:v(),quantiles_ms:St(z(),v()),cdf:Y(v()).optional(),destination_probability:v()})}).optional(),basis:dS,notes:Y(z()).optional(),step:P()}),RM=R({line:P(),error:z()}),t_=mr({src_addr:ko,rtt:Ur([v().min(0),v().min(0)]),timestamp:Ca,context:Y(pr).optional(),top:P().min(1).max(1e3).optional(),prefix_length:P().min(0).max(128).optional(),candidates:P().min(1).max(1024).optional(),max_expansions:P().min(1).max(2**16).optional()}),NM=R({src_addr:z(),rtt:Ur([v(),v()]),timestamp:v().nullable(),prefix_length:P(),context_measurements:P(),destinations:Y(R({prefix:z(),probability:v(),measured:is.nullable()})),unlisted_probability:v(),candidates:P(),prior_mass:v(),step:P()}),Qg=R({start:z().nullable(),end:z().nullable(),measurements:P(),sources:P(),destinations:P()}),r_=mr({...pr.shape,context:Y(pr).optional()}),LM=R({src_addr:z(),dst_addr:z(),timestamp:v().nullable(),rtt:v().nullable(),mean_bits:v(),spread_bits:v(),total_bits:v(),orders:Y(R({order:z(),bits:v(),block_bits:St(z(),v())})),step:P()}),CM=R({src_addr:z(),dst_addr:z(),timestamp:v().nullable(),rtt:v().nullable(),log_likelihood:v(),p_value:v()}),o_=mr({context:jr.number().int().min(0).max(1e3).optional(),seed:jr.number().int().min(0).max(2**32-1).optional()}),Ba=R({version:z(),step:P(),num_parameters:P(),vocabulary:z(),model_sha256:z(),data_fingerprint:z(),trained_tokens:P(),config:St(z(),Br()),is_calibrated:bt(),data:R({origin:z(),is_synthetic:bt().nullable(),...Qg.shape,adaptation:Qg.nullable()}).nullable(),training_curve:Y(R({step:P(),train_loss:v().nullable(),eval_loss:v().nullable()})),evaluation:R({num_measurements:P(),split:z(),num_training:P(),methods:Y(R({name:z(),median_absolute_ms:v(),mean_absolute_ms:v(),crps_ms:v().nullable()}))}).nullable()}),DM=R({...Ba.shape,adapter:z(),examples:Y(R({src_addr:z(),dst_addr:z()}))}),BM=R({type:z(),title:z(),status:P(),detail:z()});var pS=["f32","f16"],mS=R({formatVersion:P().optional(),model:Ba,calibration:Y(v()).nullable(),dtype:Ue(pS),weights:Y(R({path:z(),sizeBytes:P().min(1),sha256:z().regex(/^[0-9a-f]{64}$/)})).min(1)});function n_(t,e){try{let r=jd({}).parse(JSON.parse(t));return Es(r.formatVersion,e),mS.parse(r)}catch(r){throw r instanceof y?r:new Q("it does not describe a model of this version; run deno task export again",{path:e,cause:r})}}var Zt=8,hS=1e8,s_="__metadata__",gS=R({dtype:z(),shape:Y(v().int().nonnegative()),data_offsets:Ur([v().int().nonnegative(),v().int().nonnegative()])}),_S=St(z(),z()),Za={F32:4,F16:2};function wS(t,{path:e,sizeBytes:r}){if(r<Zt)throw new Q(`the file ends, expected ${Zt} bytes of header length`,{path:e,offsetBytes:r});let o=new DataView(t.buffer,t.byteOffset).getBigUint64(0,!0);if(o>BigInt(Math.min(hS,r-Zt))){let n=`the header's stated size is ${o} bytes, the file has ${r}`;throw new Q(`${n}; it is truncated or not a safetensors file`,{path:e,offsetBytes:0})}return Number(o)}function xS(t,e){let{buffer:r,byteOffset:o,byteLength:n}=t,s=n/Za[e];return e==="F16"?Float32Array.from(new Float16Array(r,o,s)):new Float32Array(r,o,s)}function i_(t,e){let r={path:e,sizeBytes:t.length},o=Zt+wS(t,r),{entries:n}=yS(t.subarray(Zt,o),r);return new Map([...n].map(([s,{dtype:i,begin:a,end:u}])=>{let l=(o+a)%Za[i]===0?t.subarray(o+a,o+u):t.slice(o+a,o+u);return[s,xS(l,i)]}))}function yS(t,e){let r=bS(t,e.path);return SS(r.entries,{...e,dataOffsetBytes:Zt+t.length}),r}function bS(t,e){let r={path:e,offsetBytes:Zt},o;try{o=JSON.parse(new TextDecoder("utf-8",{fatal:!0}).decode(t))}catch(u){throw new Q("the header is not JSON; it is damaged or not a safetensors file",{...r,cause:u})}if(t[0]!==123||typeof o!="object"||o===null)throw new Q("the header does not start with {, expected a JSON object",r);let{[s_]:n={},...s}=o,i=_S.safeParse(n);if(!i.success)throw new Q(`${s_} is not text to text`,r);let a=Object.entries(s).map(([u,c])=>[u,vS(u,c,r)]);return a.sort(([,u],[,c])=>u.begin-c.begin||u.end-c.end),{entries:new Map(a),metadata:i.data}}function vS(t,e,r){let o=gS.safeParse(e);if(!o.success)throw new Q(`tensor ${t} has an invalid or missing dtype, shape or data_offsets`,r);let{dtype:n,shape:s,data_offsets:[i,a]}=o.data;if(n!=="F32"&&n!=="F16")throw new Q(`tensor ${t} is ${n}, expected F32 or F16; convert it`,r);let u=Za[n]*kS(s);if(a-i!==u){let c=`tensor ${t} of shape [${s}] has ${a-i} bytes`;throw new Q(`${c}, expected ${u}`,r)}return{shape:s,dtype:n,begin:i,end:a}}function SS(t,{path:e,dataOffsetBytes:r,sizeBytes:o}){let n=0;for(let[s,{begin:i,end:a}]of t){if(i!==n){let u=i<n?"overlaps the tensor before it":"leaves a gap before it";throw new Q(`tensor ${s} ${u}`,{path:e,offsetBytes:r+i})}n=a}if(r+n!==o){let s=r+n,i=s>o?"it is truncated":"it has bytes that no tensor owns";throw new Q(`the file has ${o} bytes, expected ${s}; ${i}`,{path:e,offsetBytes:Math.min(s,o)})}}function kS(t){return t.reduce((e,r)=>e*r,1)}var ES="ping-llm weights",as=class{#e;constructor(e){this.#e=new URL(".",e)}async get(e){let r=await(await this.#o())?.match(this.#r(e));return r&&new Uint8Array(await r.arrayBuffer())}async put(e,r){let o=await this.#o();if(!o)return;let n=this.#r(e);for(let{url:i}of await o.keys())new URL(i).pathname===n.pathname&&await o.delete(i);let s={"content-length":String(r.length)};try{await o.put(n,new Response(r,{headers:s}))}catch(i){if(!(i instanceof DOMException))throw i}}async sizeBytes(){let e=await this.#o(),r=0;for(let o of await this.#t(e))r+=Number((await e?.match(o))?.headers.get("content-length")??0);return r}async delete(){let e=await this.#o();for(let r of await this.#t(e))await e?.delete(r)}async#t(e){return(await e?.keys()??[]).filter(({url:r})=>new URL(".",r).href===this.#e.href)}#r({path:e,sha256:r}){return new URL(`${e}?sha256=${r}`,this.#e)}async#o(){try{return await caches.open(ES)}catch{return}}};var AS={400:"Bad Request",404:"Not Found",405:"Method Not Allowed",408:"Request Timeout",413:"Content Too Large",415:"Unsupported Media Type",421:"Misdirected Request",429:"Too Many Requests",431:"Request Header Fields Too Large",500:"Internal Server Error",503:"Service Unavailable"},TS=["AbortError","TimeoutError"],a_="Cannot answer: the request was ended before its answer was there; ask again",ze=class extends Error{name="ApiError";problem;constructor(e,r,o){super(r,o),this.problem={type:"about:blank",title:AS[e],status:e,detail:r}}};function us(t){return zS(t).problem}function zS(t){return t instanceof ze?t:t instanceof br?new ze(503,a_):t instanceof y?new ze(400,u_(t.message)):t instanceof en?new ze(400,u_(Ua(t))):t instanceof DOMException&&TS.includes(t.name)?new ze(503,a_):new ze(500,"Cannot answer: an error of the server, not of the request; its log says more")}async function hr(t){try{return await t()}catch(e){throw!(e instanceof y)||e instanceof br?e:new Error(`Internal error: ${e.message}`,{cause:e})}}function u_(t){return t.startsWith("Cannot ")?t:`Cannot answer: ${t}`}function Ua({issues:[t]},e){let{path:r}=t,o=r.map((i,a)=>typeof i=="number"?`[${i}]`:`${a>0?".":""}${String(i)}`).join("");if(t.code==="unrecognized_keys"){let i=Ye(t.keys[0]);return`found ${o===""?i:`${i} in ${o}`}, ${t.message}`}let n=l_(t);if(!e)return o===""?n:`${o}: ${n}`;let s=r.reduce($S,e.value);return s===void 0?`found no ${o||"value"}, ${n}`:`found ${o===""?"":`${o} `}${Ye(s)}, ${n}`}function $S(t,e){return typeof t=="object"&&t!==null?Reflect.get(t,e):void 0}var OS={string:"expected text",number:"expected a number",int:"expected a whole number",array:"expected an array",tuple:"expected an array",object:"expected a JSON object"};function l_(t){return t.message.startsWith("expected ")?t.message:t.code==="invalid_type"?OS[t.expected]??`expected ${t.expected}`:t.code==="invalid_union"?`expected ${t.errors.map(([r])=>l_(r).replace(/^expected /,"")).join(" or ")}`:t.code==="too_small"?`expected at least ${c_(t.origin,t.minimum)}`:t.code==="too_big"?`expected at most ${c_(t.origin,t.maximum)}`:t.message}function c_(t,e){return t!=="array"?String(e):e===1?"1 value":`${e} values`}function cs([t,e]){if(!(t>=0&&t<=e&&e<1/0))throw new y(`Cannot ask for destinations at an RTT of ${t}..${e} ms: expected 0 or more, the lesser first`);return[De(t),De(e)]}function ls({source:t},e){let r=8*t.length;if(e===void 0)return r;if(Number.isInteger(e)&&e>=0&&e<=r)return e;throw new y(`Cannot ask for prefixes of ${e} bits: expected 0 to ${r} for the destinations of an IPv${r===32?4:6} source`)}function at({first:t,last:e}){return Array.from({length:e-t+1},(r,o)=>11+t+o)}function f_(t,{first:e,last:r}){let o=0;for(let n=e;n<=r;n++)o+=Math.exp(t[11+n]);return o}function fs(t,{tokens:e,random:r,temperature:o=1}){let n=-1/0;for(let a of e)n=Math.max(n,t[a]);let s=e.map(a=>Math.exp((t[a]-n)/o)),i=r.float64()*s.reduce((a,u)=>a+u,0);for(let a=0;a<s.length;a++)if(i-=s[a],i<0)return e[a];return e[s.indexOf(1)]}async function*ds(t,e,{count:r,begin:o}){let{maxRows:n}=t.continuationExtent;for(let s=0;s<r;s+=n){let i=Array.from({length:Math.min(n,r-s)},(a,u)=>o(s+u));await t.continuePrompts([e],async(a,u)=>{a.fork([i.length]);for(let c of i)c.draw(u);for(;i.some(c=>!c.isComplete);){let c=await a.step(i.map(l=>l.lastToken));i.forEach((l,f)=>l.draw(se(c,f))),a.registry.gpu.recycle(c)}}),yield*i}}var PS=Array.from({length:256},(t,e)=>e);async function d_({decoder:t,ends:e},r,o){let n=r.flatMap((a,u)=>a.take(o).map(c=>({search:a,prompt:u,at:c,isDone:!1})));if(n.length===0)return 0;t.fork(r.map(()=>1));let s=e,i=Uint32Array.from(n,({prompt:a})=>a);for(let a=0;;a++){n.forEach((l,f)=>{if(l.isDone||l.at.bytes.length!==a)return;let d=l.search.expand(l.at,We(se(s,i[f]),PS).probabilities);d?l.at=d:l.isDone=!0});let u=n.map(({at:l,isDone:f})=>f?lr:11+l.bytes[a]),c=Jn(i,u);if(s!==e&&t.registry.gpu.recycle(s),c.tokens.length===0)return n.length;s=await t.step(c.tokens,c.parents),i=c.rows}}var p_=256,ps=class{#e;#t;#r=new Xn((e,r)=>qa(e)>qa(r));#o=[];#n={bytes:[],mass:1};#s=new Set;#i=0;constructor({numBytes:e,top:r}){this.#e=e,this.#t=r}get found(){return this.#o}get numExpanded(){return this.#i}get isProven(){return this.#n===void 0&&this.#s.size===0&&this.#a<=this.#c}take(e){let r=[];for(this.#n&&e>0&&this.#t>0&&(r.push(this.#n),this.#n=void 0);r.length<e&&this.#a>this.#c;)r.push(this.#u());for(let o of r)this.#s.add(o);return r}expand(e,r){b(this.#s.delete(e),"a node is expanded that was not taken"),this.#i++;let o=r.map(a=>e.mass*a);if(e.bytes.length+1===this.#e){o.forEach((a,u)=>this.#l({bytes:[...e.bytes,u],mass:a}));return}let n=Uint8Array.from({length:p_},(a,u)=>u);n.sort((a,u)=>o[u]-o[a]||a-u);let s={node:e,masses:o,order:n,numTaken:1};this.#r.add(s);let i=m_(s,n[0]);return this.#s.add(i),i}get#a(){return this.#r.first?qa(this.#r.first):0}#u(){let{first:e}=this.#r;b(e,"a child is taken where there is none");let r=m_(e,e.order[e.numTaken++]);return e.numTaken===p_?this.#r.removeFirst():this.#r.sinkFirst(),r}get#c(){return this.#o.length<this.#t?0:this.#o.at(-1)?.mass??1/0}#l(e){if(e.mass<=this.#c)return;let r=o=>this.#o[o].mass<e.mass;this.#o.splice(xo(this.#o.length,r),0,e),this.#o.length>this.#t&&this.#o.pop()}};function qa({masses:t,order:e,numTaken:r}){return t[e[r]]}function m_({node:t,masses:e},r){return{bytes:[...t.bytes,r],mass:e[r]}}var ms=16,h_=.999,MS=1024,IS=at({first:0,last:255});async function __(t,e,{numCandidates:r,maxExpansions:o,onSearch:n,signal:s}){let{decoders:i,trainingData:a}=t,u=e[0].query.source.length,c=RS(a,u).slice(0,r),l=e.map(({query:_})=>new ja(a,_)),f=l.map(({known:_})=>x_([..._,...c])),d=await i.continuationLogProbabilities(e.map(({prompt:_},x)=>({prompt:_,continuations:f[x].map(A=>Uint16Array.from(A,M=>11+M))})),()=>Array.from({length:u},()=>IS)),p=0,m=f.map((_,x)=>{let A=d.slice(p,p+=_.length),M=_.map((I,L)=>{let G=Math.exp(A[L].reduce((q,$e)=>q+$e,0));return{address:I,prior:l[x].of(I,G)}}),{length:k}=l[x].known;return{known:M.slice(0,k),others:M.slice(k)}}),g=m.map(({known:_,others:x})=>g_([..._,...x])>=h_),h=m.map(({known:_},x)=>new ps({numBytes:u,top:g[x]?0:_.length+r}));return g.every(Boolean)||await i.continuePrompts(e.map(({prompt:_})=>_),async(_,x)=>{for(let A=0;A<o&&(s?.throwIfAborted(),await d_({decoder:_,ends:x},h,ms)!==0);A+=ms)n?.(h.reduce((M,{numExpanded:k})=>M+k,0))}),m.map(({known:_,others:x},A)=>{let M=h[A].found.map(({bytes:L,mass:G})=>{let q=Uint8Array.from(L);return{address:q,prior:l[A].of(q,G)}}),k=new Map(_.map(L=>[te(L.address),L])),I=g_(_);for(let L of[...x,...M].sort((G,q)=>q.prior-G.prior)){if(k.size>=_.length+r||I>=h_)break;let G=te(L.address);k.has(G)||(k.set(G,L),I+=L.prior)}return[...k.values()]})}function g_(t){return t.reduce((e,{prior:r})=>e+r,0)}var ja=class{known;#e=new Map;#t;#r;constructor(e,{source:r,context:o}){let n=w_(e).flatMap(i=>i.destinationsOf(r));for(let{address:i,seen:a}of n){let u=te(i.bytes);this.#e.set(u,(this.#e.get(u)??0)+a.measurements)}this.#t=e?.known.pairDiscount??1,this.#r=this.#e.values().reduce((i,a)=>i+a,0),n.sort((i,a)=>a.seen.measurements-i.seen.measurements);let s=o.filter(i=>te(i.source)===te(r));this.known=x_([...s.map(({destination:i})=>i),...n.map(({address:i})=>i.bytes)]).slice(0,MS)}of(e,r){if(this.#r===0)return r;let o=this.#e.get(te(e))??0,n=this.#t*this.#e.size*r;return(Math.max(0,o-this.#t)+n)/this.#r}};function RS(t,e){return w_(t).flatMap(o=>[...o.destinations()]).filter(({bytes:o})=>o.length===e).sort((o,n)=>n.asDestination.measurements-o.asDestination.measurements).map(({bytes:o})=>o)}function w_(t){return t?[t.known,...t.adaptation?[t.adaptation.known]:[]]:[]}function x_(t){return[...new Map(t.map(e=>[te(e),e])).values()]}async function y_(t,e,r={}){let{numCandidates:o=256,top:n=20,maxExpansions:s=512,onSearch:i,onProgress:a,signal:u}=r,c=e.map(d=>NS(d,t.config.sequenceLength)),l=c.map(({prompt:d})=>d),f=[];for(let d of es(l,t.decoders.continuationExtent,ms)){let p=ls(e[0],r.prefixLength),m=c.slice(f.length,f.length+d.length),g=await __(t,m,{numCandidates:o,maxExpansions:s,onSearch:i,signal:u});for(let[h,_]of m.entries()){let x=await LS(t,{..._,candidates:g[h],signal:u});f.push(DS(g[h],x,{top:n,prefixLength:p})),a?.(f.length)}}return f}function NS(t,e){let{source:r,rttMs:o,timeS:n,context:s}=t,i=o&&cs(o),a=ge({source:r,destination:r,timeS:n,context:s},e),u=a.lastIndexOf(r.length===4?3:4)+1;return{query:t,codes:i,prompt:a.slice(0,u),time:[...a.subarray(u+r.length)]}}async function LS(t,{query:e,prompt:r,candidates:o,time:n,codes:s,signal:i}){let a=CS(s),u=o.flatMap(({address:m})=>a.map(g=>Uint16Array.of(...Array.from(m,h=>11+h),...n,...g))),c=e.source.length+n.length,l=a[0].length,f=t.gpu.array(u.length*l*267),d=(m,g)=>se(f,m*l+g);await t.decoders.visitContinuations([{prompt:r,continuations:u}],(m,g,h)=>{i?.throwIfAborted(),h>=c&&d(g,h-c).set(m)});let p=o.map((m,g)=>{let h=a.length*g,_=h+a.length-1,x=yo(d(h,0));if(!s)return x;let A={first:d(h,1),ofLow:d(h,2),ofHigh:d(_,2)},M=Ng(s,A);return(1-x)*(t.calibration?.massOf(M)??M.within)});return t.gpu.recycle(f),p}function CS(t){if(!t)return[[10]];let e=new Set(t.map(r=>r>>8));return Array.from(e,r=>[8,11+r,11])}function DS(t,e,{top:r,prefixLength:o}){let n=t.map(({prior:c},l)=>c*e[l]),s=n.reduce((c,l)=>c+l,0),i=new Map;t.forEach(({address:c},l)=>{let f=ro(c,o),d=Ke(f),p=s>0?n[l]/s:1/t.length;i.set(d,{prefix:f,probability:(i.get(d)?.probability??0)+p})});let a=[...i.values()].sort((c,l)=>l.probability-c.probability).slice(0,r),u=a.reduce((c,{probability:l})=>c+l,0);return{destinations:a,unlistedProbability:Math.max(0,1-u),candidates:t.length,priorMass:t.reduce((c,{prior:l})=>c+l,0)}}var BS=[["src","src_addr"],["dst","dst_addr"],["time","timestamp"]];function wt(t,e){let r=b_(e),{success:o,data:n,error:s}=t.safeParse(r);if(o)return n;throw new y(Ua(s,{value:r}))}function b_(t){if(typeof t!="object"||t===null||Array.isArray(t))return t;let e=new Map(Object.entries(t));for(let[o,n]of BS)if(e.has(o)){if(e.has(n))throw new y(`found ${o} and ${n}, expected one of the two`);e.set(n,e.get(o)),e.delete(o)}let r=e.get("context");return Array.isArray(r)&&e.set("context",r.map(b_)),Object.fromEntries(e)}function Fa(t,e={}){let{draws:r,seed:o,quantiles:n,at:s,cdf:i,...a}=wt(e_,t),{src_addr:u,dst_addr:c}=a;return{query:{src:u,dst:c,...ns(v_(a))},wanted:{quantiles:n??e.quantiles,at:s??e.at,cdf:i??e.cdf},draws:{numDraws:r,seed:o}}}function Ha(t){let{src_addr:e}=t,{source:r,timeS:o,context:n}=ns(v_({...t,dst_addr:e}));if(!ee(r))throw new y(`found src_addr ${Ye(e)}, expected an IPv4 or IPv6 address${oo(e)}`);return{source:r.bytes,timeS:o,context:n??[]}}function hs(t){return So(S_(t))}function v_({src_addr:t,dst_addr:e,timestamp:r,context:o}){return{src:t,dst:e,time:r,context:o?.map(S_)}}function S_({src_addr:t,dst_addr:e,timestamp:r,rtt:o}){return{src:t,dst:e,rtt:o,...r!==void 0&&{time:r}}}var k_=at({first:0,last:255}),ZS=[at({first:0,last:0}),at({first:0,last:31})],US=at({first:1,last:255}),qS=J.map(t=>11+t),jS=new Map(J.map(t=>[t,Qn(t).map(e=>11+e)])),E_=[{field:"source",token:1,numBytes:4},{field:"source",token:2,numBytes:16},{field:"destination",token:3,numBytes:4},{field:"destination",token:4,numBytes:16},{field:"result",token:8,numBytes:2},{field:"result",token:10,numBytes:0},{field:"time",token:5,numBytes:8},{field:"time",token:6,numBytes:1},{field:"time",token:7,numBytes:4}],gr=class{#e=new Set(["source","destination","result","time"]);#t;#r=0;#o=0;#n=[];#s=0;#i=!1;constructor(e){this.#t=e}get isComplete(){return this.#i||this.#e.size===0&&this.#s===0}allowed(){return this.isComplete?[]:this.#s>0?this.#u():this.#a()}push(e){if(this.#s>0){this.#s--,this.#n.push(e-11);return}if(e===0){this.#i=!0;return}let r=E_.find(o=>o.token===e);b(r&&this.#e.delete(r.field),`token ${e}`),this.#o=e,this.#n=[],this.#s=r.numBytes,(r.field==="source"||r.field==="destination")&&(this.#r=r.numBytes)}#a(){let r=E_.filter(({field:n,token:s,numBytes:i})=>this.#e.has(n)?n==="time"?this.#t===(s!==5):n==="result"||this.#r===0||this.#r===i:!1).map(({token:n})=>n);return this.#e.size===1&&this.#e.has("time")?[...r,0]:r}#u(){let e=this.#n;return this.#o===8?e.length===0?qS:jS.get(e[0])??[]:this.#o===5?ZS[e.length]??k_:this.#o===7&&e.length===2&&e[0]+e[1]===0?US:k_}};async function*A_(t,e,r){let o=HS(e,t.config.sequenceLength),{count:n}=r,s=i=>new Ka(o,i,r);for await(let i of ds(t.decoders,o.tokens,{count:n,begin:s}))yield i.measurement()}function FS(t,e){let{context:r}=t,o=t.source??t.destination??new Uint8Array(16),n=r.findLast(({timeS:i})=>i!==null)?.timeS??null,s=n===null?0:n+256;return Bt({source:o,destination:o,timeS:s,context:r},e)}function HS(t,e){let{source:r,destination:o,timeS:n}=t;if(r&&o&&r.length!==o.length)throw new y("Cannot sample between addresses of different versions: expected two addresses of one version");let s=new Uint16Array(e+1),i=new He(s),a=FS(t,e);Na(a,n);for(let h of a)i.write(h,st);let{at:u,previousTimeS:c}=i,l={source:r!==void 0,destination:o!==void 0,time:n!==null},f=r??o??new Uint8Array(4),d={source:r??f,destination:o??f,rttCode:null,timeS:n},p=["source","destination","time"];i.write(d,[...p.filter(h=>l[h]),...p.filter(h=>!l[h]),"result"]);let g=(Number(l.source)+Number(l.destination))*(1+f.length)+Wr(n,c);return{tokens:s.slice(0,u+1+g),start:u,hasEarlierTime:c!==null}}var Ka=class{#e;#t;#r;#o;#n;constructor({tokens:e,start:r,hasEarlierTime:o},n,{seed:s,temperature:i=1,topK:a=1/0}){this.#e=[...e],this.#t=new gr(o);for(let u of e.subarray(r+1))this.#t.push(u);this.#r=new Le(s,"query/sample",n),this.#o=i,this.#n=a}get isComplete(){return this.#t.isComplete}get lastToken(){return this.#e[this.#e.length-1]}draw(e){if(this.isComplete)return;let r=this.#t.allowed(),o=r.length<=this.#n?r:r.toSorted((s,i)=>e[i]-e[s]).slice(0,this.#n),n=fs(e,{tokens:o,random:this.#r,temperature:this.#o});this.#t.push(n),n!==0&&this.#e.push(n)}measurement(){let e=xp(Uint16Array.from(this.#e)).at(-1);return b(e,"a sample has a measurement"),e}};var _r=class{#e=new Map;#t=0;get length(){return this.#t}get numLanes(){return this.#e.size}push(e,r){let o=this.#e.get(r);o?o.push(e):this.#e.set(r,[e]),this.#t++}take(){let e=this.#e.entries().next();if(e.done)return;let[r,o]=e.value,n=o.shift();return this.#e.delete(r),o.length>0&&this.#e.set(r,o),this.#t--,n}remove(e,r){let o=this.#e.get(r),n=o?.indexOf(e)??-1;!o||n<0||(o.splice(n,1),o.length===0&&this.#e.delete(r),this.#t--)}};var Ga=1024;function Va(t){return new ze(429,`Cannot answer: ${t} requests wait already; ask again in a second`)}var gs=class{#e;#t;#r=new _r;#o=!1;#n=1;#s;constructor(e,r={}){this.#e=e,this.#t={maxBatch:62,maxWaitMs:10,maxQueue:Ga,onBatch:()=>{},...r}}get queueLength(){return this.#r.length}async ask(e,r,{lane:o,signal:n}={}){if(n?.throwIfAborted(),ge(e,this.#e.config.sequenceLength),!o&&this.#r.numLanes>=this.#t.maxQueue)throw Va(this.#t.maxQueue);let{promise:s,resolve:i,reject:a}=Promise.withResolvers(),u=o??{},c={query:e,settle(f){try{i(r(f))}catch(d){a(d)}},fail:a},l=()=>{this.#r.remove(c,u),a(n?.reason)};n?.addEventListener("abort",l),this.#r.push(c,u),this.#i();try{return await s}finally{n?.removeEventListener("abort",l)}}#i(){if(this.#o||this.#r.length===0)return;let{maxBatch:e,maxWaitMs:r}=this.#t,o=this.#r.length>=Math.min(this.#n,e);if(this.#s&&(this.#s.isLast||!o))return;clearTimeout(this.#s?.id);let n=setTimeout(()=>void this.#a(),o?0:r);this.#s={id:n,isLast:o}}async#a(){this.#s=void 0;let e=[];for(;e.length<this.#t.maxBatch;){let r=this.#r.take();if(!r)break;e.push(r)}if(e.length!==0){this.#o=!0,this.#n=e.length,this.#t.onBatch(e.length);try{let r=e.map(({query:o})=>o);await hr(()=>this.#e.likelyRttDistributions(r,(o,n)=>e[n].settle(o)))}catch(r){for(let o of e)o.fail(r)}this.#o=!1,this.#r.length>=this.#t.maxBatch&&this.#a(),this.#i()}}};function T_(t,e){if(e===null)return t;let r=t.length;for(;r>0&&(t[r-1].timeS??e)>e;)r--;return r===t.length?t:t.slice(0,r)}var KS=["time","source","destination","result"];async function GS(t,e,r){let o=VS(e,t.config.sequenceLength),n=await WS(t,o),s=a=>new Wa(o,n,{index:a,seed:r.seed}),i=ds(t.decoders,o.prompt,{count:r.numDraws,begin:s});return YS(e,await Array.fromAsync(i,a=>a.resultOf(e)))}function VS({source:t,destination:e,timeS:r,context:o},n){let s={source:t.bytes,destination:e.bytes,rttCode:null,timeS:r},i=bo(s,{context:o,order:KS,sequenceLength:n}),a=1+t.bytes.length,u=i.length-1-2*a,c=["source","destination"].flatMap((d,p)=>{let m=d==="source"?t:e,g={kind:"role",token:i[u+p*a]},h=[...m.bytes.keys()].map(_=>({kind:"byte",side:d,index:_,range:nm(m,_)}));return[g,...h]}),l=d=>d.kind==="byte"&&d.range.first<d.range.last,f=c.findIndex(l);return{prompt:i.slice(0,u+f),fixed:c.slice(0,f),drawn:c.slice(f,c.findLastIndex(l)+1)}}async function WS(t,{prompt:e,fixed:r}){let[o]=await t.decoders.tokenLogProbabilities([e],r.length),n={source:1,destination:1};return r.forEach((s,i)=>{s.kind==="byte"&&(n[s.side]*=Math.exp(o[i]))}),n}var Wa=class{#e={source:new Map,destination:new Map};#t;#r;#o;#n=0;lastToken=0;constructor(e,r,{index:o,seed:n}){this.#t=e,this.#o={...r},this.#r=new Le(n,"query/prefix",o)}get isComplete(){return this.#n===this.#t.drawn.length}draw(e){let r=this.#t.drawn[this.#n++];if(r.kind==="role"){this.lastToken=r.token;return}let{side:o,index:n,range:s}=r;s.last-s.first<255&&(this.#o[o]*=f_(e,s)),this.lastToken=fs(e,{tokens:at(s),random:this.#r}),this.#e[o].set(n,this.lastToken-11)}resultOf({source:e,destination:r}){return{source:this.#s("source",e),destination:this.#s("destination",r),mass:this.#o}}#s(e,{bytes:r}){return r.map((o,n)=>this.#e[e].get(n)??o)}};function YS({source:t,destination:e},r){let o=new Map;for(let{mass:u,...c}of r){let l=`${c.source} ${c.destination}`,f=o.get(l);f?f.count++:o.set(l,{...c,count:1})}let n=r.map(({mass:u})=>u.destination),s=r.length,i=n.reduce((u,c)=>u+c,0)/s,a=n.reduce((u,c)=>u+(c-i)**2,0)/(s-1);return{pairs:[...o.values()],sourceProbability:ee(t)?null:r[0].mass.source,destinationProbability:ee(e)?null:i,destinationProbabilityError:ee(t)||ee(e)?0:Math.sqrt(a/s)}}function JS(t){return{distribution:t,numDraws:0,numDistinct:1,pFailedError:0,meanErrorMs:0,cdfError:()=>0,quantileErrorMs:()=>0}}var Ya=class{#e=0;#t=0;#r=new wr;#o=0;#n=new wr;#s=new wr;#i=new wr;#a=new Float64Array(le.length);#u=new Float64Array(le.length);#c=new Float64Array(le.length);add(e,r){let{pFailed:o,probabilities:n}=e,s=Math.max(1-o,Number.EPSILON);this.#e+=r,this.#t++,this.#o+=r*e.canonicalMass,this.#r.add({y:o,w:1,count:r}),this.#n.add({y:s,w:s,count:r});let i=s*e.withinPingLimit;this.#s.add({y:i*e.meanMs,w:i,count:r}),this.#i.add({y:i,w:i,count:r});let a=0;for(let u=0;u<n.length;u++){let c=s*n[u];a+=c,this.#a[u]+=r*c,this.#u[u]+=r*a*a,this.#c[u]+=r*a*s}}mixture(){let e=this.#e;b(e>=2,`${e} draws have no standard error`);let r=this.#n,o=new _t(this.#r.sum/e,this.#a.map(a=>a/r.sum),this.#o/e),n=(a,u,c=r)=>{let l=a.squares-2*u*a.products+u**2*c.squares;return Math.sqrt(Math.max(0,l)*e/(e-1))/c.sum},s=a=>{let u=o.indexOf(a);return n({squares:this.#u[u],products:this.#c[u]},o.cdf(a))},i=this.#r.squares/e-(this.#r.sum/e)**2;return{distribution:o,numDraws:e,numDistinct:this.#t,cdfError:s,pFailedError:Math.sqrt(Math.max(0,i)/(e-1)),meanErrorMs:this.#i.sum===0?0:n(this.#s,this.#s.sum/this.#i.sum,this.#i),quantileErrorMs:a=>{let u=s(o.quantileMs(a));return(o.quantileMs(Math.min(1,a+u))-o.quantileMs(Math.max(0,a-u)))/2}}}},wr=class{sum=0;squares=0;products=0;add({y:e,w:r,count:o}){this.sum+=o*e,this.squares+=o*e*e,this.products+=o*e*r}},z_=124,XS=64;async function Ja(t,e,r={}){let o="source"in e?e:La(e),{numDraws:n=XS,seed:s=0,onProgress:i=()=>{}}=r;if(!(Number.isInteger(n)&&n>=2))throw new RangeError(`Cannot draw ${n} addresses: expected a whole number of at least 2`);if(ee(o.source)&&ee(o.destination)){let{source:l,destination:f}=o,d={...o,source:l.bytes,destination:f.bytes};return _s(await t.rttDistribution(d))}let{pairs:a,...u}=await GS(t,o,{numDraws:n,seed:s}),c=new Ya;for(let l=0;l<a.length;l+=z_){let f=a.slice(l,l+z_),d=f.map(({source:p,destination:m})=>({...o,source:p,destination:m}));await t.likelyRttDistributions(d,(p,m)=>c.add(p,f[m].count)),i(l+f.length,a.length)}return{mixture:c.mixture(),...u}}function _s(t){return{mixture:JS(t),sourceProbability:null,destinationProbability:null,destinationProbabilityError:0}}function $_({config:{sequenceLength:t}},e,r){let{source:o,destination:n,timeS:s}=e,i=e.context??T_(r,s),a=e.context?0:r.length-i.length,u={source:o.bytes,destination:n.bytes,timeS:s,context:i},c={...u,context:Bt(u,t)};return ge(c,t),{query:{...e,context:e.context&&c.context},first:c,numContext:i.length,numContextLater:a}}function O_({query:t,numContext:e,numContextLater:r,numContextUsed:o}){let n=[...t.notes];return r>0&&n.push(`${r} context measurements are after the query's time and were left out`),o<e&&n.push(`the newest ${o} of ${e} context measurements were used: more do not fit`),n}var QS=4;function P_(t,e){let{quantiles:r,atMs:o=[]}=e,{distribution:n}=t.mixture,{pFailed:s,meanMs:i,canonicalMass:a}=n;return{pFailed:s,meanMs:Number(i.toPrecision(QS)),likeliest:n.likeliest(),quantilesMs:M_(r,u=>n.quantileMs(u)),canonicalMass:a,...o.length>0&&{at:o.map(u=>ek(n,u))},...t.mixture.numDraws>0&&{drawn:tk(t,{quantiles:r,atMs:o})}}}function ek(t,e){let r=t.indexOf(e),{lowMs:o,highMs:n}=gn(le[r]),s=t.probabilities[r],i=(1-t.pFailed)*s;return{rttMs:e,cdf:t.cdf(e),probability:s,lowMs:o,highMs:n===1/0?null:n,bits:i>0?-Math.log2(i):null}}function tk(t,{quantiles:e,atMs:r=[]}){let{mixture:o,sourceProbability:n,destinationProbability:s,destinationProbabilityError:i}=t,{numDraws:a,numDistinct:u,pFailedError:c,meanErrorMs:l}=o;return{numDraws:a,numDistinct:u,sourceProbability:n,destinationProbability:s,standardErrors:{pFailed:c,meanMs:l,quantilesMs:M_(e,f=>o.quantileErrorMs(f)),...r.length>0&&{cdf:r.map(f=>o.cdfError(f))},destinationProbability:i}}}function M_(t,e){return Object.fromEntries(t.map(r=>[r,e(r)]))}function Qa(t){return Xa(t)}function Xa(t){if(Array.isArray(t))return t.map(Xa);if(typeof t!="object"||t===null)return t;let e=Object.entries(t).map(([r,o])=>[r.replace(/[A-Z]/g,n=>`_${n.toLowerCase()}`),Xa(o)]);return Object.fromEntries(e)}var I_={v1:{byteBase:10,roleNames:Jd,opens:t=>t<10&&t!==3&&t!==4,fieldOf(t){return t===1?"source":t===2?"destination":t===5?"result":"time"}},v2:{byteBase:11,roleNames:pn,opens:t=>t<11,fieldOf(t){return t===1||t===2?"source":t===3||t===4?"destination":t===8||t===10?"result":"time"}}};var eu=new Set([5,6,7]);function rk(t){return t?Vr:Vr.filter(e=>e[3]==="time").map(e=>e.slice(0,3))}async function R_(t,e,r={}){let o=e.map(s=>ok(s,r.order,t.config)),n=await ik(t,o);return o.map(({orders:s})=>ck(s.map(i=>uk(i,n.get(i)??[]))))}function ok(t,e,r){let o=sk(t.measurement,e),n=nk(t,o[0],r),s=n.lastIndexOf(0)+1,{opens:i}=I_[r.vocabulary],a=[...n.keys()].filter(c=>c>=s&&i(n[c])),u=new Map(o[0].map((c,l)=>[c,[...n.subarray(a[l],a[l+1])]]));return{prompt:n.subarray(0,s),orders:o.map(c=>{let l=c.map(f=>u.get(f)??[]);return{order:c,lengths:l.map(({length:f})=>f),tokens:Uint16Array.from(l.flat())}})}}function nk({measurement:t,rttMs:e,context:r},o,n){let s=Tn(n);if(!s)return bo(t,{context:r,order:o,sequenceLength:n.sequenceLength});b(e!==void 0&&r.length===0,"vocabulary v1 takes RTTs, and no context");let i={...t,rttMs:e},a=new Uint16Array(tr(i));return new rr(a,cn(s)).writeFields(i,o),a}function sk({timeS:t},e){return e?[t===null?e.filter(r=>r!=="time"):e]:rk(t!==null)}async function ik(t,e){let r=[...Map.groupBy(e,({prompt:s})=>s.join()).values()].map(s=>({prompt:s[0].prompt,orders:s.flatMap(({orders:i})=>i)})),n=(await t.decoders.continuationLogProbabilities(r.map(({prompt:s,orders:i})=>({prompt:s,continuations:i.map(({tokens:a})=>a)})),t.config.vocabulary==="v2"?ak:void 0)).map(s=>Array.from(s,i=>-i/Math.LN2));return new Map(r.flatMap(({orders:s})=>s).map((s,i)=>[s,n[i]]))}function ak(t,e){let r=t.some(s=>eu.has(s)),o=new gr(e.some(s=>eu.has(s))),n=s=>s!==0&&(r||!eu.has(s));return Array.from(t,s=>{let i=o.allowed().filter(n);return o.push(s),i})}function uk({order:t,lengths:e},r){let o=0;return{blocks:t.map((s,i)=>{let a=r.slice(o,o+=e[i]);return{field:s,tokenBits:a,bits:Eo(a)}}),bits:Eo(r)}}function ck(t){let e=t.map(({bits:i})=>i),r=Eo(e)/e.length,o=Math.sqrt(Eo(e.map(i=>(i-r)**2))/e.length),n=Math.min(...e),s=n-Math.log2(Eo(e.map(i=>2**(n-i))));return{orders:t,meanBits:r,spreadBits:o,totalBits:s}}function Eo(t){return t.reduce((e,r)=>e+r,0)}async function*tu(t){let e=0;for(let r of t)yield{line:++e,read:()=>r}}async function*ru(t){let e=0;for await(let r of t)e++,r.trim()!==""&&(yield{line:e,read:()=>lk(r)})}async function ou(t){return await Array.fromAsync(t,e=>"error"in e?e:e.answer)}async function*nu(t){for await(let e of t)yield"error"in e?e:{line:e.line,...e.answer}}function lk(t){try{return JSON.parse(t)}catch(e){throw e instanceof SyntaxError?new y("found no JSON, expected a JSON object",{cause:e}):e}}var fk=65536,dk=256,ws=class{maxContext;sequenceLength;maxKept;#e;#t;#r;#o;#n;#s;constructor(e,r=1/0,o=fk){this.maxContext=e,this.sequenceLength=r,this.maxKept=o,this.#e=[],this.#t=new Map,this.#r=new Map,this.#o=0,this.#n=0,this.#s=[]}get numKept(){return this.#o+this.#s.length}clear(){this.#e=[],this.#s=[],this.#t.clear(),this.#r.clear(),this.#o=0}add(e,r,o){this.maxContext!==0&&(this.#i(r),this.#s.push({pair:e,order:this.#n++,timeUs:r,measurement:o,isDropped:!1}))}contextOf(e,r,o=this.maxContext){this.#i(r);let n=o===0?[]:this.#t.get(e)?.slice(-o)??[];for(let s=this.#e.length-1;s>=0&&n.length<o;s--){let i=this.#e[s];!i.isDropped&&i.pair!==e&&n.push(i)}return n.sort((s,i)=>s.order-i.order).map(({measurement:s})=>s)}growingContextOf(e,r,o){this.#i(r);let n=this.#r.get(e),s=this.#t.get(e)?.filter(({order:u})=>u>=(n?.endOrder??0))??[],i=n?[...n.context,...s.map(({measurement:u})=>u)]:[];if(!n||i.length>this.maxContext||N_([...i,o])>this.sequenceLength)for(i=this.contextOf(e,r,Math.ceil(this.maxContext/2));N_(i)>this.sequenceLength/2;)i.shift();let a=this.#t.get(e)?.at(-1);return this.maxContext>0&&this.#r.set(e,{context:i,endOrder:(a?.order??-1)+1}),i}#i(e){if(!(this.#s.length===0||this.#s[0].timeUs>=e)){for(let r of this.#s)this.#a(r);this.#s=[],this.#e.length>2*this.#o+dk&&(this.#e=this.#e.filter(({isDropped:r})=>!r))}}#a(e){let r=this.#t.get(e.pair)??[];r.push(e)===1&&this.#t.set(e.pair,r),this.#e.push(e),this.#o++,r.length>this.maxContext?this.#u(r[0]):this.#o>this.maxKept&&this.#u(this.#e.find(({isDropped:o})=>!o))}#u(e){if(!e)return;let r=this.#t.get(e.pair);r?.shift(),r?.length===0&&(this.#t.delete(e.pair),this.#r.delete(e.pair)),e.isDropped=!0,this.#o--}};function N_(t){let e=null;return t.reduce((r,o)=>{let n=Fe(o,e);return e=o.timeS??e,r+n},0)}function L_({source:t,destination:e}){return`${t} ${e}`}var pk=.01,xs=J.map(Qn),C_=xs.map(({length:t})=>t),su=class{logLikelihood;needed;#e;#t=0;#r=0;#o=0;constructor(e,{outcome:r,first:o,second:n},s=pk){this.logLikelihood=Rg(e,{outcome:r,first:o,second:n});let i=yo(r);this.#e=We(o,J).probabilities.map(u=>u*(1-i));let a=e===null?-1:J.indexOf(e>>8);if(e===null)this.#t=i;else{let{probabilities:u}=We(n,xs[a]);this.#t=this.#e[a]*u[xs[a].indexOf(e&255)],this.addSecondBytes(a,n)}this.#n(i),this.needed=this.#s(a,s)}addSecondBytes(e,r){let o=this.#e[e];for(let n of We(r,xs[e]).probabilities)this.#n(o*n)}pValue(e){return Math.min(1,this.#r+this.#o*(1-e))}#n(e){e<this.#t?this.#r+=e:e===this.#t&&(this.#o+=e)}#s(e,r){let o=[];for(let i=0;i<this.#e.length;i++){let a=this.#e[i];i!==e&&(a<this.#t?this.#r+=a:o.push({index:i,most:Math.min(a,C_[i]*this.#t)}))}o.sort((i,a)=>i.most-a.most||i.index-a.index);let n=r*this.#r,s=0;for(;s<o.length&&o[s].most<=n;){let{index:i,most:a}=o[s++];n-=a,this.#e[i]<C_[i]*this.#t&&(this.#r+=this.#e[i])}return o.slice(s).map(({index:i})=>i).sort((i,a)=>i-a)}},D_=16,B_=2**32;async function U_(t,e,r){let o=[],n=[],s=0,i=0,a=hk(e,t.config.sequenceLength),u=a.map(({tokens:c})=>gk(c,t.config.sequenceLength));return await t.decoders.withPrompts(u,1,async(c,l,f)=>{let d=a.slice(f,f+l.length);i+=l.reduce((x,{length:A})=>x+A,0);let p=d.flatMap(x=>x.numbers),m=p.map(x=>e[x]),g=await _k(c,l,{part:m,ends:d.map(({ends:x})=>x),...r}),h=wk(g,m,c.extent.maxRows).map(x=>(s+=x.bytes.length,xk(c,g,x))),_=Promise.all(h.toArray()).then(()=>g.forEach((x,A)=>o[p[A]]=mk(x,m[A].number,r.seed)));_.catch(()=>{}),n.push(_)}),await Promise.all(n),{scores:o,numExpanded:s,numTokens:i}}function mk(t,e,r){let o=new Le(r,"score/p-value",e%B_,Math.floor(e/B_));return{logLikelihood:t.logLikelihood,pValue:t.pValue(o.float64())}}function hk(t,e){let r=[],o=new Map;return t.forEach(({measurement:n,context:s},i)=>{let{rttCode:a}=n,u=ge({...n,context:s},e),c=a===null?[10]:[8,11+(a>>8),11+(a&255)],l=Uint16Array.from([...u,...c]),f=Z_(u.subarray(0,u.lastIndexOf(0))),d=s.length>0?o.get(f):void 0;o.delete(f),d||r.push(d={tokens:l,ends:[],numbers:[]}),d.tokens=l.subarray(0,u.length+Math.min(c.length,2)),d.ends.push(d.tokens.length),d.numbers.push(i),o.set(Z_(l),d)}),r}function gk(t,e){let r=new Uint16Array(Math.min(Math.ceil(t.length/D_)*D_,e));return r.set(t),r}function Z_(t){return String.fromCharCode(...t)}async function _k(t,e,{part:r,ends:o,maxRelativeError:n}){let s=K(t.config),i=r.flatMap(({measurement:f},d)=>f.rttCode===null?[d]:[]),[a,u]=await Promise.all([t.prefill(e,{numLast:3,ends:o}),q_(t,r.length,{prompts:i,steps:[i.map(()=>8)]})]),c=0,l=r.map(({measurement:{rttCode:f}},d)=>{let[p,m,g]=[0,1,2].map(_=>se(a,3*d+_,s)),h=f===null?{outcome:m,first:se(u,c++,s),second:g}:{outcome:p,first:m,second:g};return new su(f,h,n)});return t.registry.gpu.recycle(a,u),l}function*wk(t,e,r){for(let o of[!1,!0]){let n=t.flatMap(({needed:s},i)=>e[i].measurement.rttCode===null===o?s.map(a=>({prompt:i,index:a})):[]);for(let s=0;s<n.length;s+=r)yield{bytes:n.slice(s,s+r),areFailed:o}}}async function xk(t,e,{bytes:r,areFailed:o}){let n=K(t.config),s=o?[r.map(()=>8)]:[],i=await q_(t,e.length,{prompts:r.map(({prompt:a})=>a),steps:[...s,r.map(({index:a})=>11+J[a])]});r.forEach(({prompt:a,index:u},c)=>e[a].addSecondBytes(u,se(i,c,n))),t.registry.gpu.recycle(i)}async function q_(t,e,{prompts:r,steps:o}){if(r.length===0)return new Float32Array;let n=Array.from({length:e},()=>0);for(let i of r)n[i]++;t.fork(n,{numDropped:1});let s=await Promise.all(o.map(i=>t.step(i)));return t.registry.gpu.recycle(...s.slice(0,-1)),s[o.length-1]}var yk=2**14,iu=class{maxContext;sequenceLength;maxKept;#e;#t;constructor(e,r=1/0,o=yk){this.maxContext=e,this.sequenceLength=r,this.maxKept=o,this.#e=new Map,this.#t=0}get numKept(){return this.#t}contextOf(e,r){let{source:o,timeS:n}=e,s=`${o} ${n===null}`,i=this.#e.get(s)??{history:new ws(this.maxContext,this.sequenceLength,this.maxKept/2),newestUs:0},{history:a}=i,u=bk(r)??i.newestUs+1,c=u<i.newestUs;i.newestUs=Math.max(i.newestUs,u);let l=L_(e),f=(c?a.contextOf(l,i.newestUs):a.growingContextOf(l,i.newestUs,e)).filter(d=>(d.timeS??0)<=(n??0)).sort((d,p)=>(d.timeS??0)-(p.timeS??0));return this.#e.delete(s),this.#e.set(s,i),this.#t-=a.numKept,a.add(l,i.newestUs,e),this.#t+=a.numKept,this.#r(),f}#r(){for(let[e,{history:r}]of this.#e){if(this.#t<=this.maxKept)return;this.#t-=r.numKept,this.#e.delete(e)}}};function bk(t){let e=os(String(t??""));return"timeUs"in e?e.timeUs:void 0}var vk=256;async function*F_(t,e,{context:r,seed:o,signal:n}){let s=new iu(r,t.config.sequenceLength),i=[];for await(let a of e){let u=Sk(a,s,t.config.sequenceLength);i.push(u),!(i.length<vk)&&(n?.throwIfAborted(),yield*j_(t,i,o),i=[])}n?.throwIfAborted(),yield*j_(t,i,o)}function Sk({line:t,read:e},r,o){try{let n=wt(pr,e()),s=hs(n),i=r.contextOf(s,n.timestamp);return ge({...s,context:i},o),{asked:n,case:{measurement:s,context:i,number:t-1}}}catch(n){if(n instanceof y)return{line:t,error:n.message};throw n}}async function*j_(t,e,r){let o=e.flatMap(i=>"error"in i?[]:[i.case]),{scores:n}=await hr(()=>U_(t,o,{seed:r})),s=0;for(let i of e){if("error"in i){yield i;continue}let{asked:{src_addr:a,dst_addr:u,rtt:c},case:{measurement:l,number:f}}=i,{logLikelihood:d,pValue:p}=n[s++],m={src_addr:a,dst_addr:u,timestamp:l.timeS,rtt:c};yield{line:f+1,answer:{...m,log_likelihood:d,p_value:p}}}}function kk(t,e){let{rtt:r,prefix_length:o,...n}=wt(t_,e),{src_addr:s,timestamp:i,context:a,top:u,candidates:c,max_expansions:l}=n,f={...Ha({src_addr:s,timestamp:i,context:a}),rttMs:r};cs(r);let d=ls(f,o),p=Bt({...f,destination:f.source},t.config.sequenceLength),m={src_addr:s,rtt:r,timestamp:f.timeS,prefix_length:d,context_measurements:p.length};return async g=>{let[h]=await y_(t,[f],{...u!==void 0&&{top:u},...c!==void 0&&{numCandidates:c},...l!==void 0&&{maxExpansions:l},prefixLength:d,signal:g}),{trainingData:_}=t;return{...m,destinations:h.destinations.map(({prefix:x,probability:A})=>({prefix:Ke(x),probability:A,measured:_?io(Pn(_,f.source,x)):null})),unlisted_probability:h.unlistedProbability,candidates:h.candidates,prior_mass:h.priorMass,step:t.step}}}var Ek=8,Ak=4,Tk=.5;async function zk(t){let e=new Map,r={count:Ek,seed:0,temperature:Tk};for await(let{source:o,destination:n}of A_(t,{timeS:null,context:[]},r)){let s={src_addr:te(o),dst_addr:te(n)};e.set(`${s.src_addr} ${s.dst_addr}`,s)}return[...e.values()].slice(0,Ak)}async function*$k(t,e,r){let o=t[Symbol.asyncIterator](),n=[],s,i=!1;try{for(;!i||n.length>0;){!i&&n.length<r&&(s??=o.next());let a=n[0],u=s?.then(f=>({next:f})),c=a?.then(f=>({value:f})),l=await Promise.race([c,u].filter(f=>f!==void 0));if("value"in l){n.shift(),yield l.value;continue}s=void 0,l.next.done?i=!0:n.push(Ok(e(l.next.value)))}}finally{let a=o.return?.();s?a?.catch(()=>{}):await a}}function Ok(t){return t.catch(()=>{}),t}var au=class{maxQueue;#e;#t;constructor(e=Ga){this.maxQueue=e,this.#e=new _r,this.#t=!1}get queueLength(){return this.#e.length}async run(e,{lane:r,signal:o}){o?.throwIfAborted(),this.#t&&await this.#r(r,o),this.#t=!0;try{return o?.throwIfAborted(),await e()}finally{let n=this.#e.take();n?n():this.#t=!1}}async#r(e,r){if(!e&&this.#e.numLanes>=this.maxQueue)throw Va(this.maxQueue);let{promise:o,resolve:n,reject:s}=Promise.withResolvers(),i=e??{},a=()=>{this.#e.remove(n,i),s(r?.reason)};r?.addEventListener("abort",a),this.#e.push(n,i);try{await o}finally{r?.removeEventListener("abort",a)}}},Pk=[.05,.25,.5,.75,.95],Mk=[.001,.999];function Ik(t,{quantiles:e=Pk,at:r=[],cdf:o},{step:n,trainingData:s}){let{query:{src:i,dst:a,source:u,destination:c,timeS:l},answer:f,numContextUsed:d}=t,p=O_(t);return{src_addr:i,dst_addr:a,timestamp:l,context_measurements:d,...Qa(P_(f,{quantiles:e,atMs:r})),...o!==void 0&&{cdf:Rk(f.mixture.distribution,o)},basis:fm(lm(s,u,c)),...p.length>0&&{notes:p},step:n}}function Rk(t,e){let[r,o]=Mk.map(n=>t.quantileMs(n));return Array.from({length:e},(n,s)=>{let i=r*(o/r)**(s/(e-1));return{rtt_ms:i,cdf:t.cdf(i)}})}var Nk=124,Lk=20,ys=class{#e;#t;#r;#o;#n;constructor(e,{info:r,batch:o={}}){this.#e=e,this.#t=r,this.#o=new gs(e,o),this.#n=new au(o.maxQueue)}get queueLength(){return this.#o.queueLength+this.#n.queueLength}async rtt(e,r){return await this.#i(Fa(e),{signal:r})}async rttBatch(e,r){return await ou(this.#s(tu(H_(e)),{},r))}rttLines(e,r={},o){return nu(this.#s(ru(e),r,o))}async destinations(e,r){let o=kk(this.#e,e);return await this.#a(()=>o(r),{signal:r})}async likelihood(e,r){let{context:o,...n}=wt(r_,e),s=hs(n),{context:i}=Ha({...n,context:o});ge({...s,context:i},this.#e.config.sequenceLength);let a={measurement:s,rttMs:n.rtt,context:i},[u]=await this.#a(()=>R_(this.#e,[a]),{signal:r}),{meanBits:c,spreadBits:l,totalBits:f}=u,d=u.orders.map(({blocks:m,bits:g})=>({order:m.map(({field:h})=>h).join(),bits:g,blockBits:Object.fromEntries(m.map(({field:h,bits:_})=>[h,_]))})),p=Qa({meanBits:c,spreadBits:l,totalBits:f,orders:d});return{...n,timestamp:s.timeS,...p,step:this.#e.step}}async score(e,r={},o){return await ou(this.#u(tu(H_(e)),r,o))}scoreLines(e,r={},o){return nu(this.#u(ru(e),r,o))}async model(){return this.#r??=this.#a(()=>zk(this.#e),{}).catch(e=>{throw this.#r=void 0,e}),{...this.#t,adapter:this.#e.gpu.info.name,examples:await this.#r}}async*#s(e,r,o){let n=wt(Da,r),s={lane:{},signal:o};yield*$k(e,async({line:a,read:u})=>{try{return{line:a,answer:await this.#i(Fa(u(),n),s)}}catch(c){if(!(c instanceof Error)||us(c).status!==400)throw c;return{line:a,error:c.message}}},Nk)}async#i({query:e,wanted:r,draws:o},n){let s=this.#e,{first:i,...a}=$_(s,e,[]),u=f=>{let d={...a,numContextUsed:i.context.length,answer:f};return Ik(d,r,s)};if(ee(e.source)&&ee(e.destination))return await this.#o.ask(i,f=>u(_s(f)),n);let c={...e,context:i.context},l=()=>n.signal?.throwIfAborted();return await this.#a(async()=>u(await Ja(s,c,{...o,onProgress:l})),n)}async#a(e,r){return await this.#n.run(()=>hr(e),r)}async*#u(e,r,o){let{context:n=Lk,seed:s=0}=wt(o_,r);yield*F_(this.#e,e,{context:n,seed:s,signal:o})}};function H_(t){if(Array.isArray(t))return t;throw new ze(400,"Cannot answer: found no array, expected one")}var Je=[0,.01,.025,...Array.from({length:19},(t,e)=>Math.round(5*(e+1))/100),.975,.99,1],bs=class t{#e;#t;constructor(e,r){b(K_(e),"shares of a calibration rise from 0 to 1"),this.#e=e,this.#t=r}static of(e){let r=e.below.length;return b(r>0,"a calibration needs measurements"),new t(Je.map((o,n)=>{if(n===0||n===Je.length-1)return o;let s=Zk(e,[0,o]).reduce((i,a)=>i+a,0);return(o+s)/(r+1)}))}static parse(e,r){let{calibration:{shares:o},run:n}=Dk(e,r);if(!K_(o)){let u=`expected ${Je.length} numbers that rise from 0 to 1`;throw new Q(`its calibration is damaged, ${u}; run eval again with --overwrite`,{path:r})}let{checkpoint:s,step:i,modelSha256:a}=n;return new t(o,{path:r,checkpoint:s,step:i,sha256:a})}requireOf({directory:e,state:r}){let{sha256:o}=r.files.model;if(!this.#t||this.#t.sha256===o)return;let{path:n,checkpoint:s,step:i}=this.#t,a=`it is of the model ${s} (step ${i}, SHA-256 ${this.#t.sha256.slice(0,12)}\u2026)`;throw new Q(`${a}, expected one of ${e} (step ${r.step}, ${o.slice(0,12)}\u2026); run eval on that one`,{path:n})}get shares(){return this.#e}shareBelow(e){return Bk(Je,this.#e,e)}massOf({below:e,within:r}){let o=Math.min(1,e+r),n=Je.findIndex((a,u)=>a>e||u===Je.length-1);if(o>Je[n])return this.shareBelow(o)-this.shareBelow(e);let[s,i]=[Je[n-1],Je[n]];return r*(this.#e[n]-this.#e[n-1])/(i-s)}apply(e,r=new Ve){let{pFailed:o,probabilities:n,canonicalMass:s,spreadMass:i}=e,{probabilities:a,cumulative:u}=r,c=0,l=0;for(let f=0;f<n.length;f++){c+=n[f];let d=this.shareBelow(Math.min(1,c));a[f]=d-l,l=d}return new _t(o,a,s,i,u)}},Ck=R({run:R({checkpoint:z(),step:P(),modelSha256:z()}),calibration:R({shares:Y(v())})});function Dk(t,e){try{return Ck.parse(JSON.parse(t))}catch(r){let o=r instanceof en&&r.issues.every(({path:[i]})=>i==="run"),n=o?"it does not say of which model it is":"it holds no calibration",s="expected the report.json of an eval whose data has a validation split";throw new Q(`${n}, ${s}; run eval${o?" again with --overwrite":""}`,{path:e,cause:r})}}function K_(t){return t.length===Je.length&&t[0]===0&&t.at(-1)===1&&t.every((e,r)=>r===0||e>t[r-1])}function Bk(t,e,r){let o=1;for(;o<t.length-1&&t[o]<r;)o++;return e[o-1]+(r-t[o-1])/(t[o]-t[o-1])*(e[o]-e[o-1])}function Zk({below:t,upTo:e},[r,o]){return t.map((n,s)=>{let i=e[s]-n;return i>0?Math.max(0,Math.min(o,e[s])-Math.max(r,n))/i:n>=r&&(n<o||o===1)?1:0})}async function Uk(t){let e=await V_(t,{cache:"no-cache"});return n_(await e.text(),t.href)}async function qk(t,e,r){let o=new as(e),n=t.weights.reduce((l,{sizeBytes:f})=>l+f,0),s=new Map,i=0;for(let l of t.weights){let f=new URL(l.path,e),d=await jk(l,f,o,m=>r(i+m,n)),p=du(i_(d,f.href),t.formatVersion,e.href);for(let[m,g]of p)s.set(m,g);i+=l.sizeBytes}let{step:a,config:u,model_sha256:c}=t.model;return{directory:e.href,config:{model:Xi(u.model)},state:{step:a,files:{model:{sha256:c}}},weights:s}}async function jk(t,e,r,o){o(0);let n=await r.get(t);if(n&&await G_(n,t)===void 0)return n;let s=await Fk(t,e,o),i=await G_(s,t);if(i)throw new y(`Cannot use the model from ${e.href}: ${i}; load the page again, and if that does not help, export the site again and copy all of its files`);return await r.put(t,s),s}async function G_(t,{sha256:e}){let r=new Uint8Array(await crypto.subtle.digest("SHA-256",t)),o=Array.from(r,n=>n.toString(16).padStart(2,"0")).join("");if(o!==e)return`its SHA-256 is ${o.slice(0,12)}\u2026, expected ${e.slice(0,12)}\u2026: it was damaged or replaced`}async function Fk({sizeBytes:t},e,r){let{body:o}=await V_(e,{cache:"no-store"}),n=new Uint8Array(t),s=0,i=a=>new y(`Cannot use the model from ${e.href}: found ${a} bytes, expected ${t}; load the page again`);try{let a=o?.getReader();for(let u=await a?.read();u?.value;u=await a?.read()){if(s+u.value.length>t)throw i("more");n.set(u.value,s),s+=u.value.length,r(s)}}catch(a){throw a instanceof y?a:uu(e,"the connection was lost",a)}if(s<t)throw i(String(s));return n}async function V_(t,e){let r;try{r=await fetch(t,e)}catch(o){throw uu(t,"the server did not answer",o)}if(r.ok)return r;throw uu(t,`the server answered ${r.status}`)}function uu(t,e,r){return new y(`Cannot load ${t.href}: ${e}; check the connection and load the page again`,{cause:r})}var Hk=2**28,Kk={src:"192.0.2.1",dst:"192.0.2.2"},Gk=100,W_=globalThis,xr=t=>W_.postMessage(t),cu=new Map,lu;W_.onmessage=async({data:t})=>{t.kind==="abort"?cu.get(t.id)?.abort():t.kind==="ask"?await Xk(t):await Vk(new URL(t.site))};async function Vk(t){try{lu=await Wk(t),xr({kind:"ready"})}catch(e){xr({kind:"status",status:{state:"failed",message:Y_(e,"run the model here")}})}}async function Wk(t){let e=await Yk(),r=await Uk(t);Jk(r,e);let o=-1/0,n=await qk(r,t,(i,a)=>{performance.now()-o<Gk||(o=performance.now(),xr({kind:"status",status:{state:"loading",loadedBytes:i,totalBytes:a}}))});xr({kind:"status",status:{state:"starting"}});let s=await ss.from(n,{memoryLimitBytes:Hk,...r.calibration&&{calibration:new bs(r.calibration)}});return await s.rttDistribution(Kk),new ys(s,{info:r.model})}async function Yk(){let t=await navigator.gpu?.requestAdapter();if(t)return t;let e=globalThis.isSecureContext?navigator.gpu?"this browser gives no GPU to pages":"this browser has no WebGPU":"the page came neither by https nor from this machine, where browsers give pages no GPU",r=globalThis.isSecureContext?"open the page in a current Chrome, Edge, Firefox or Safari on a machine with a GPU":"open it with https";throw new y(`Cannot run the model here: ${e}, expected WebGPU; ${r}`)}function Jk({model:{config:t}},e){let r=Xi(t.model),o=cr(s=>Ct(r,s)),n=Nt(e);if(!(o<=n))throw new y(`Cannot run the model here: its largest tensor has ${it(o)}, expected at most ${it(n)} on this GPU; open the page on a larger machine, or ask for a smaller model`)}async function Xk({id:t,operation:e,args:r}){let o=new AbortController;cu.set(t,o);try{if(!lu)throw new y("Cannot answer: the model is not loaded");xr({kind:"answer",id:t,answer:await Qk(lu,e,[...r,o.signal])})}catch(n){xr({kind:"problem",id:t,detail:Y_(n,"answer")})}finally{cu.delete(t)}}async function Qk(t,e,r){return await t[e].apply(t,r)}function Y_(t,e){let{status:r,detail:o}=us(t);return r!==500?o:(console.error(t),`Cannot ${e}: ${t instanceof Error?t.message:String(t)}`)}
