var jw=Object.defineProperty;var Es=(t,e)=>{for(var r in e)jw(t,r,{get:e[r],enumerable:!0})};var E={};Es(E,{BIGINT_FORMAT_RANGES:()=>Ao,CONSTANT_CATCH:()=>xu,Class:()=>zs,NUMBER_FORMAT_RANGES:()=>Tr,aborted:()=>he,allowsEval:()=>Ms,assert:()=>Ww,assertEqual:()=>qw,assertIs:()=>Kw,assertNever:()=>Gw,assertNotEqual:()=>Fw,assignProp:()=>ke,attachSchema:()=>zr,base64ToUint8Array:()=>wu,base64urlToUint8Array:()=>p_,cached:()=>kr,captureStackTrace:()=>ko,cleanEnum:()=>d_,cleanRegex:()=>Er,clone:()=>Re,cloneDef:()=>Jw,codePointLength:()=>$r,constantCatch:()=>yu,createTransparentProxy:()=>o_,defineLazy:()=>lu,defineLazyInternal:()=>N,derived:()=>w_,esc:()=>Ps,escapeRegex:()=>Xe,explicitlyAborted:()=>Ls,extend:()=>i_,finalizeIssue:()=>Ie,floatSafeRemainder:()=>Os,getElementAtPath:()=>Xw,getEnumValues:()=>Kt,getLengthableOrigin:()=>Or,getParsedType:()=>r_,getSizableOrigin:()=>gu,hexToUint8Array:()=>h_,hide:()=>$o,installLazyProp:()=>b_,isObject:()=>Ht,isPlainObject:()=>lt,issue:()=>Wt,joinValues:()=>So,jsonStringifyReplacer:()=>Gt,members:()=>Ds,merge:()=>u_,mergeDefs:()=>Je,normalizeParams:()=>k,nullish:()=>$s,numKeys:()=>t_,objectClone:()=>Vw,omit:()=>s_,optionalKeys:()=>Ns,own:()=>ct,parsedType:()=>Cs,partial:()=>c_,pick:()=>n_,prefixIssues:()=>Me,primitiveTypes:()=>mu,promiseAllObject:()=>Qw,propertyKeyTypes:()=>Is,randomString:()=>e_,rawShape:()=>Ar,required:()=>l_,safeExtend:()=>a_,shallowClone:()=>pu,sizeCaps:()=>zo,slugify:()=>Rs,stringifyPrimitive:()=>Eo,toZod:()=>Hw,uint8ArrayToBase64:()=>_u,uint8ArrayToBase64url:()=>m_,uint8ArrayToHex:()=>g_,unwrapMessage:()=>Ft});function qw(t){return t}function Fw(t){return t}function Hw(){return t=>t}function Kw(t){}function Gw(t){throw new Error("Unexpected value in exhaustive check")}function Ww(t){}function Kt(t){let e=Object.values(t).filter(o=>typeof o=="number");return Object.entries(t).filter(([o,n])=>e.indexOf(+o)===-1).map(([o,n])=>n)}function So(t,e="|"){return t.map(r=>Eo(r)).join(e)}function Gt(t,e){return typeof e=="bigint"?e.toString():e}var Ts=class{constructor(e){this._getter=e,this._value=void 0}get value(){let e=this._getter;return e!==void 0&&(this._value=e(),this._getter=void 0),this._value}};function kr(t){return new Ts(t)}function $s(t){return t==null}function Er(t){let e=t.startsWith("^")?1:0,r=t.endsWith("$")?t.length-1:t.length;return t.slice(e,r)}function Os(t,e){let r=t/e,o=Math.round(r),n=4*Number.EPSILON*Math.max(Math.abs(r),1);return Math.abs(r-o)<n?0:r-o}var cu=Symbol("evaluating");function lu(t,e,r){let o;Object.defineProperty(t,e,{get(){if(o!==cu)return o===void 0&&(o=cu,o=r()),o},set(n){Object.defineProperty(t,e,{value:n})},configurable:!0})}function Vw(t){return Object.create(Object.getPrototypeOf(t),Object.getOwnPropertyDescriptors(t))}function ke(t,e,r){Object.defineProperty(t,e,{value:r,writable:!0,enumerable:!0,configurable:!0})}function Ar(t){let e=Object.getOwnPropertyDescriptor(t,"shape");return e?.get?e.get.raw:e?.value}function Ye(t){return Ar(t._zod.def)??t._zod.def.shape}function fu(t,e,r){Object.defineProperty(t,e,{get(){let o=r();return ke(this,e,o),o},enumerable:!0,configurable:!0})}function du(t,e,r){e in t?ke(t,e,r):t[e]=r}function vt(t,e,r,o){let n=Ye(e);for(let s of r){let i=Object.getOwnPropertyDescriptor(n,s);i.enumerable&&(i.get?fu(t,s,()=>{let a=e._zod.def.shape[s];return o?o(a,s):a}):du(t,s,o?o(i.value,s):i.value))}}function Yw(t,e){for(let r of Reflect.ownKeys(e)){let o=Object.getOwnPropertyDescriptor(e,r);o.enumerable&&(o.get?fu(t,r,()=>e[r]):du(t,r,o.value))}}function Je(...t){let e={};for(let r of t){let o=Object.getOwnPropertyDescriptors(r);Object.assign(e,o)}return Object.defineProperties({},e)}function Jw(t){return Je(t._zod.def)}function Xw(t,e){return e?e.reduce((r,o)=>r?.[o],t):t}function Qw(t){let e=Object.keys(t),r=e.map(o=>t[o]);return Promise.all(r).then(o=>{let n={};for(let s=0;s<e.length;s++)n[e[s]]=o[s];return n})}function e_(t=10){let e="abcdefghijklmnopqrstuvwxyz",r="";for(let o=0;o<t;o++)r+=e[Math.floor(Math.random()*e.length)];return r}function Ps(t){return JSON.stringify(t)}function Rs(t){return t.toLowerCase().trim().replace(/[^\w\s-]/g,"").replace(/[\s_-]+/g,"-").replace(/^-+|-+$/g,"")}var ko="captureStackTrace"in Error?Error.captureStackTrace:(...t)=>{};function Ht(t){return typeof t=="object"&&t!==null&&!Array.isArray(t)}var Ms=kr(()=>{if(pe.jitless||typeof navigator<"u"&&navigator?.userAgent?.includes("Cloudflare"))return!1;try{let t=Function;return new t(""),!0}catch{return!1}});function lt(t){if(Ht(t)===!1)return!1;let e=t.constructor;if(e===void 0||typeof e!="function")return!0;let r=e.prototype;return!(Ht(r)===!1||Object.prototype.hasOwnProperty.call(r,"isPrototypeOf")===!1)}function pu(t){return lt(t)?{...t}:Array.isArray(t)?[...t]:t instanceof Map?new Map(t):t instanceof Set?new Set(t):t}function t_(t){let e=0;for(let r in t)Object.prototype.hasOwnProperty.call(t,r)&&e++;return e}var r_=t=>{let e=typeof t;switch(e){case"undefined":return"undefined";case"string":return"string";case"number":return Number.isNaN(t)?"nan":"number";case"boolean":return"boolean";case"function":return"function";case"bigint":return"bigint";case"symbol":return"symbol";case"object":return Array.isArray(t)?"array":t===null?"null":t.then&&typeof t.then=="function"&&t.catch&&typeof t.catch=="function"?"promise":typeof Map<"u"&&t instanceof Map?"map":typeof Set<"u"&&t instanceof Set?"set":typeof Date<"u"&&t instanceof Date?"date":typeof File<"u"&&t instanceof File?"file":"object";default:throw new Error(`Unknown data type: ${e}`)}},Is=new Set(["string","number","symbol"]),mu=new Set(["string","number","bigint","boolean","symbol","undefined"]);function Xe(t){return t.replace(/[.*+?^${}()|[\]\\]/g,"\\$&")}function Re(t,e,r){let o=new t._zod.constr(e??t._zod.def);return(!e||r?.parent)&&(o._zod.parent=t),o}function k(t){let e=t;if(!e)return{};if(typeof e=="string")return{error:()=>e};if(e?.message!==void 0){if(e?.error!==void 0)throw new Error("Cannot specify both `message` and `error` params");e.error=e.message}return delete e.message,typeof e.error=="string"?{...e,error:()=>e.error}:e}function o_(t){let e;return new Proxy({},{get(r,o,n){return e??(e=t()),Reflect.get(e,o,n)},set(r,o,n,s){return e??(e=t()),Reflect.set(e,o,n,s)},has(r,o){return e??(e=t()),Reflect.has(e,o)},deleteProperty(r,o){return e??(e=t()),Reflect.deleteProperty(e,o)},ownKeys(r){return e??(e=t()),Reflect.ownKeys(e)},getOwnPropertyDescriptor(r,o){return e??(e=t()),Reflect.getOwnPropertyDescriptor(e,o)},defineProperty(r,o,n){return e??(e=t()),Reflect.defineProperty(e,o,n)}})}function Eo(t){return typeof t=="bigint"?t.toString()+"n":typeof t=="string"?`"${t}"`:`${t}`}function Ns(t){return Object.keys(t).filter(e=>t[e]._zod.optin!==void 0&&t[e]._zod.optout==="optional")}var Tr={safeint:[Number.MIN_SAFE_INTEGER,Number.MAX_SAFE_INTEGER],int32:[-2147483648,2147483647],uint32:[0,4294967295],float32:[-34028234663852886e22,34028234663852886e22],float64:[-Number.MAX_VALUE,Number.MAX_VALUE]},Ao={int64:[BigInt("-9223372036854775808"),BigInt("9223372036854775807")],uint64:[BigInt(0),BigInt("18446744073709551615")]};function n_(t,e){let r=t._zod.def,o=r.checks;if(o&&o.length>0)throw new Error(".pick() cannot be used on object schemas containing refinements");let s={};return vt(s,t,To(t,e)),Re(t,Je(r,{shape:s,checks:[]}))}function To(t,e){let r=Ye(t),o=[];for(let n of Reflect.ownKeys(e)){if(!Object.getOwnPropertyDescriptor(r,n)?.enumerable)throw new Error(`Unrecognized key: "${String(n)}"`);e[n]&&o.push(n)}return o}function s_(t,e){let r=t._zod.def,o=r.checks;if(o&&o.length>0)throw new Error(".omit() cannot be used on object schemas containing refinements");let s=new Set(To(t,e)),i={};return vt(i,t,Reflect.ownKeys(Ye(t)).filter(a=>!s.has(a))),Re(t,Je(r,{shape:i,checks:[]}))}function i_(t,e){if(!lt(e))throw new Error("Invalid input to extend: expected a plain object");let r=t._zod.def.checks;if(r&&r.length>0){let n=Ye(t);for(let s of Reflect.ownKeys(e))if(Object.getOwnPropertyDescriptor(n,s)!==void 0)throw new Error("Cannot overwrite keys on object schemas containing refinements. Use `.safeExtend()` instead.")}return Re(t,Je(t._zod.def,{shape:hu(t,e)}))}function hu(t,e){let r={};return vt(r,t,Reflect.ownKeys(Ye(t))),Yw(r,e),r}function a_(t,e){if(!lt(e))throw new Error("Invalid input to safeExtend: expected a plain object");return Re(t,Je(t._zod.def,{shape:hu(t,e)}))}function u_(t,e){if(!e?._zod?.def)throw new Error("Invalid input to merge: expected an object schema. To merge a plain shape, use `.extend()`.");if(t._zod.def.checks?.length)throw new Error(".merge() cannot be used on object schemas containing refinements. Use .safeExtend() instead.");let r={};vt(r,t,Reflect.ownKeys(Ye(t))),vt(r,e,Reflect.ownKeys(Ye(e)));let o=Je(t._zod.def,{shape:r,get catchall(){return e._zod.def.catchall},checks:e._zod.def.checks??[]});return Re(t,o)}function c_(t,e,r,o="partial"){let s=e._zod.def.checks;if(s&&s.length>0)throw new Error(`.${o}() cannot be used on object schemas containing refinements`);let a=r?new Set(To(e,r)):void 0,u={};return vt(u,e,Reflect.ownKeys(Ye(e)),t&&((c,l)=>a&&!a.has(l)?c:new t({type:"optional",innerType:c}))),Re(e,Je(e._zod.def,{shape:u,checks:[]}))}function l_(t,e,r){let o=r?new Set(To(e,r)):void 0,n={};return vt(n,e,Reflect.ownKeys(Ye(e)),(s,i)=>o&&!o.has(i)?s:new t({type:"nonoptional",innerType:s})),Re(e,Je(e._zod.def,{shape:n}))}function he(t,e=0){if(t.aborted===!0)return!0;for(let r=e;r<t.issues.length;r++)if(t.issues[r]?.continue!==!0)return!0;return!1}function Ls(t,e=0){if(t.aborted===!0)return!0;for(let r=e;r<t.issues.length;r++)if(t.issues[r]?.continue===!1)return!0;return!1}function Me(t,e){return e.map(r=>{var o;return(o=r).path??(o.path=[]),r.path.unshift(t),r})}function Ft(t){return typeof t=="string"?t:t?.message}function zo(t){let e=[];for(let r of t??[]){let o=r._zod.def;if(!/_(length|size)$|_equals$/.test(o.check))break;let n=o.maximum??o.length??o.size;n>=0&&e.push([n,r])}return e}function zr(t,e,r){var o;for(let n=e;n<t.length;n++)(o=t[n]).schema??(o.schema=r)}function Ie(t,e,r){var o;let n=t.inst?._zod?.traits;n?.has("$ZodType")&&(n.has("$ZodCheck")?(o=t).schema??(o.schema=t.inst):t.schema=t.inst);let s=t.schema!==t.inst?t.schema?._zod.def?.error:void 0,i=t.message?t.message:Ft(t.inst?._zod.def?.error?.(t))??Ft(s?.(t))??Ft(e?.error?.(t))??Ft(r.customError?.(t))??Ft(r.localeError?.(t))??"Invalid input",a={};for(let u of Object.keys(t))u==="inst"||u==="schema"||u==="continue"||u==="input"||u==="__proto__"||(a[u]=t[u]);return a.path??(a.path=[]),a.message=i,e?.reportInput&&(a.input=t.input),a}function gu(t){return t instanceof Set?"set":t instanceof Map?"map":t instanceof File?"file":"unknown"}var f_=/[\uD800-\uDBFF]/;function $r(t){let e=t.length;if(!f_.test(t))return e;let r=e;for(let o=0;o<e-1;o++)(t.charCodeAt(o)&64512)===55296&&(t.charCodeAt(o+1)&64512)===56320&&(r--,o++);return r}function Or(t){return Array.isArray(t)?"array":typeof t=="string"?"string":"unknown"}function Cs(t){let e=typeof t;switch(e){case"number":return Number.isNaN(t)?"nan":"number";case"object":{if(t===null)return"null";if(Array.isArray(t))return"array";let r=t;if(r&&Object.getPrototypeOf(r)!==Object.prototype&&"constructor"in r&&r.constructor)return r.constructor.name}}return e}function Wt(...t){let[e,r,o]=t;return typeof e=="string"?{message:e,code:"custom",input:r,inst:o}:{...e}}function d_(t){return Object.entries(t).filter(([e,r])=>Number.isNaN(Number.parseInt(e,10))).map(e=>e[1])}function wu(t){let e=atob(t),r=new Uint8Array(e.length);for(let o=0;o<e.length;o++)r[o]=e.charCodeAt(o);return r}function _u(t){let e="";for(let r=0;r<t.length;r++)e+=String.fromCharCode(t[r]);return btoa(e)}function p_(t){let e=t.replace(/-/g,"+").replace(/_/g,"/"),r="=".repeat((4-e.length%4)%4);return wu(e+r)}function m_(t){return _u(t).replace(/\+/g,"-").replace(/\//g,"_").replace(/=/g,"")}function h_(t){let e=t.replace(/^0x/,"");if(e.length%2!==0)throw new Error("Invalid hex string length");let r=new Uint8Array(e.length/2);for(let o=0;o<e.length;o+=2)r[o/2]=Number.parseInt(e.slice(o,o+2),16);return r}function g_(t){return Array.from(t).map(e=>e.toString(16).padStart(2,"0")).join("")}var zs=class{constructor(...e){}};function Ds(t,e){for(let r in e){let o=Object.getOwnPropertyDescriptor(e,r);o.get?Object.defineProperty(t,r,{...o,enumerable:!1}):__(t,r,o.value)}}function ct(t,e,r,o=!0){return Object.defineProperty(t,e,{configurable:!0,writable:!0,enumerable:o,value:r}),r}function $o(t,e,r){return ct(t,e,r,!1)}function w_(t,e){for(let r in t){let o=t[r];Object.defineProperty(e,r,{configurable:!0,enumerable:!0,get(){return ct(this,r,o(this))},set(n){ct(this,r,n)}})}return e}function __(t,e,r){Object.defineProperty(t,e,{configurable:!0,get(){return this==null?r:ct(this,e,r.bind(this))},set(o){ct(this,e,o)}})}function x_(t,e){let r=Object.getPrototypeOf(t);return e in r?void 0:r}var As,ut=!1,y_={configurable:!0,get(){ut=!0}};function N(t,e,r){let o=Object.getPrototypeOf(t._zod);if(e in o&&As!==t._zod){As=void 0;return}As=t._zod,Object.defineProperty(o,e,{configurable:!0,get(){Object.defineProperty(this,e,y_);let n=ut;ut=!1;try{let s=r(this);return ut?delete this[e]:Object.defineProperty(this,e,{configurable:!0,writable:!0,value:s}),ut=ut||n,s}catch(s){throw delete this[e],ut=ut||n,s}},set(n){Object.defineProperty(this,e,{configurable:!0,writable:!0,value:n})}})}function b_(t,e,r,o){let n=x_(t,e);n&&Object.defineProperty(n,e,{configurable:!0,get(){let s={configurable:!0,writable:!0,enumerable:o,value:void 0};return Object.defineProperty(this,e,s),s.value=r(this),Object.defineProperty(this,e,s),s.value},set(s){Object.defineProperty(this,e,{configurable:!0,writable:!0,enumerable:o,value:s})}})}var xu="~constantCatch";function yu(t){let e=()=>t;return e[xu]=!0,e}var bu;var Bs={value:void 0,enumerable:!1},vu="captureStackTrace"in Error?Error:null;function v_(t){let e=vu;if(e){let r=e.stackTraceLimit;if(typeof r=="number"){try{e.stackTraceLimit=0}catch{return vu=null,new t}try{return new t}finally{e.stackTraceLimit=r}}}return new t}function w(t,e,r,o){let n={};function s(d){this.def=d,this.constr=f,this.traits=new Set}s.prototype=n;let i=r,a=i&&new WeakSet;function u(d,p){if(d._zod){if(d._zod.traits.has(t))return}else{Bs.value=new s(p);try{Object.defineProperty(d,"_zod",Bs)}finally{Bs.value=void 0}}if(d._zod.traits.add(t),e(d,p),a){let h=Object.getPrototypeOf(d),g=d._zod.constr.prototype,_=h;for(;_&&_!==g;)_=Object.getPrototypeOf(_);let x=_??h;a.has(x)||(a.add(x),Ds(x,i))}let m=f.prototype;for(let h in m)Object.prototype.hasOwnProperty.call(m,h)&&(h in d||(d[h]=m[h].bind(d)))}let c=o?.Parent??Object;class l extends c{}Object.defineProperty(l,"name",{value:t});function f(d){let p=o?.Parent?v_(l):this;u(p,d);let m=p._zod.deferred;if(m){for(let g of m)g();p._zod.deferred=void 0}let h=globalThis.__zod_globalConfig?.postProcessor;return h&&h(p),p}return Object.defineProperty(f,"init",{value:u}),Object.defineProperty(f,Symbol.hasInstance,{value:d=>o?.Parent&&d instanceof o.Parent?!0:d?._zod?.traits?.has(t)}),Object.defineProperty(f,"name",{value:t}),f}var Ne=class extends Error{constructor(){super("Encountered Promise during synchronous parse. Use .parseAsync() instead.")}},Vt=class extends Error{constructor(e){super(`Encountered unidirectional transform during encode: ${e}`),this.name="ZodEncodeError"}};(bu=globalThis).__zod_globalConfig??(bu.__zod_globalConfig={});var pe=globalThis.__zod_globalConfig;function ge(t){return t&&Object.assign(pe,t),pe}function S_(){let t=this._zod;return t.message??(t.message=JSON.stringify(t.def,Gt,2)),t.message}function k_(t){this._zod.message=t}var E_={get:S_,set:k_,enumerable:!0,configurable:!0},Zs={value:void 0,enumerable:!1},Su=new WeakSet([Object.prototype,Error.prototype]),ku=(t,e)=>{t.name="$ZodError",Zs.value=e,Object.defineProperty(t,"issues",Zs),Zs.value=void 0,Object.defineProperty(t,"message",E_);let r=Object.getPrototypeOf(t);Su.has(r)||(Su.add(r),Object.defineProperty(r,"toString",{configurable:!0,enumerable:!1,get(){let o=()=>this.message;return Object.defineProperty(this,"toString",{value:o,configurable:!0,writable:!0}),o},set(o){Object.defineProperty(this,"toString",{value:o,configurable:!0,writable:!0})}}))},Eu=w("$ZodError",ku),Rk=w("$ZodError",ku,void 0,{Parent:Error});function A_(t,e,r){return Object.prototype.hasOwnProperty.call(t,e)||(e==="__proto__"?Object.defineProperty(t,e,{value:r(),writable:!0,enumerable:!0,configurable:!0}):t[e]=r()),t[e]}function Au(t,e=r=>r.message){let r={},o=[];for(let n of t.issues)n.path.length>0?A_(r,n.path[0],()=>[]).push(e(n)):o.push(e(n));return{formErrors:o,fieldErrors:r}}function Tu(t,e=r=>r.message){let r={_errors:[]},o=(n,s=[])=>{for(let i of n.issues)if(i.code==="invalid_union"&&i.errors.length)i.errors.map(a=>o({issues:a},[...s,...i.path]));else if(i.code==="invalid_key")o({issues:i.issues},[...s,...i.path]);else if(i.code==="invalid_element")o({issues:i.issues},[...s,...i.path]);else{let a=[...s,...i.path];if(a.length===0)r._errors.push(e(i));else{let u=r,c=0;for(;c<a.length;){let l=a[c],f=c===a.length-1;if(l==="_errors"){f&&u._errors.push(e(i)),c++;continue}Object.prototype.hasOwnProperty.call(u,l)||Object.defineProperty(u,l,{value:{_errors:[]},enumerable:!0,writable:!0,configurable:!0});let d=u[l];f&&d._errors.push(e(i)),u=d,c++}}}};return o(t),r}function Oo(t,e){return{callee:e?.callee??t,Err:e?.Err}}var Po=t=>{let e=(r,o,n,s)=>{let i=n?{...n,async:!1}:{async:!1},a=r._zod.run({value:o,issues:[]},i);if(a instanceof Promise)throw new Ne;if(a.issues.length){let u=new(s?.Err??t)(a.issues.map(c=>Ie(c,i,ge())));throw ko(u,s?.callee??e),u}return a.value};return e};var Ro=t=>{let e=async(r,o,n,s)=>{let i=n?{...n,async:!0}:{async:!0},a=r._zod.run({value:o,issues:[]},i);if(a instanceof Promise&&(a=await a),a.issues.length){let u=new(s?.Err??t)(a.issues.map(c=>Ie(c,i,ge())));throw ko(u,s?.callee??e),u}return a.value};return e};var Mo=t=>(e,r,o)=>{let n=o?{...o,async:!1}:{async:!1},s=e._zod.run({value:r,issues:[]},n);if(s instanceof Promise)throw new Ne;return s.issues.length?zu(t,s.issues,n):{success:!0,data:s.value}};function zu(t,e,r){let o;return{success:!1,get error(){return o||(o=new t(e.map(n=>Ie(n,r,ge()))),e=void 0,r=void 0),o},set error(n){o=n,e=void 0,r=void 0}}}var Io=t=>async(e,r,o)=>{let n=o?{...o,async:!0}:{async:!0},s=e._zod.run({value:r,issues:[]},n);return s instanceof Promise&&(s=await s),s.issues.length?zu(t,s.issues,n):{success:!0,data:s.value}};var T_=Symbol.for("zod.compile.invalid"),z_=Symbol.for("zod.compile.fallback"),js=(t,e,r)=>{let o=t._zod.bag.validator;if(o!==void 0){if(o(e)!==T_)return!0;if(o.definite===!0&&r===void 0)return!1}return $_(t,e,r)};function $_(t,e,r){let o=r?{...r,async:!1,abortEarly:!0}:{async:!1,abortEarly:!0},n=t._zod.bag.fallbackRun,s;if(n?(o[z_]=!0,s=n({value:e,issues:[]},o)):s=t._zod.run({value:e,issues:[]},o),s instanceof Promise)throw new Ne;return s.issues.length===0}var qs=async(t,e,r)=>{let o=r?{...r,async:!0,abortEarly:!0}:{async:!0,abortEarly:!0},n=t._zod.run({value:e,issues:[]},o);return n instanceof Promise&&(n=await n),n.issues.length===0},$u=t=>{let e=Po(t),r=(o,n,s,i)=>{let a=s?{...s,direction:"backward"}:{direction:"backward"};return e(o,n,a,Oo(r,i))};return r};var Ou=t=>{let e=Po(t),r=(o,n,s,i)=>e(o,n,s,Oo(r,i));return r};var Pu=t=>{let e=Ro(t),r=async(o,n,s,i)=>{let a=s?{...s,direction:"backward"}:{direction:"backward"};return await e(o,n,a,Oo(r,i))};return r};var Ru=t=>{let e=Ro(t),r=async(o,n,s,i)=>await e(o,n,s,Oo(r,i));return r};var Mu=t=>(e,r,o)=>{let n=o?{...o,direction:"backward"}:{direction:"backward"};return Mo(t)(e,r,n)};var Iu=t=>(e,r,o)=>Mo(t)(e,r,o);var Nu=t=>async(e,r,o)=>{let n=o?{...o,direction:"backward"}:{direction:"backward"};return Io(t)(e,r,n)};var Lu=t=>async(e,r,o)=>Io(t)(e,r,o);var Cu=/^[cC][0-9a-z]{6,}$/,Du=/^[0-9a-z]+$/,Bu=/^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$/,Uu=/^[0-9a-vA-V]{20}$/,Zu=/^[A-Za-z0-9]{27}$/,ju=/^[a-zA-Z0-9_-]{21}$/;function qu(t){return new RegExp(`^[a-zA-Z0-9_-]{${t}}$`)}var Fu=/^P(?:(\d+W)|(?!.*W)(?=\d|T\d)(\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+([.,]\d+)?S)?)?)$/;var Hu=/^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})$/,Hs=t=>t?new RegExp(`^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-${t}[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12})$`):/^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}|00000000-0000-0000-0000-000000000000|ffffffff-ffff-ffff-ffff-ffffffffffff)$/;var Ku=/^(?:[A-Za-z0-9_'+\-]+\.)*[A-Za-z0-9_'+\-]*[A-Za-z0-9_+-]@(?:[A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$/;var O_="^(?=[\\s\\S]*[\\p{Extended_Pictographic}\\p{Regional_Indicator}\\u20E3])[\\p{Extended_Pictographic}\\p{Emoji_Component}]+$";function Gu(){return new RegExp(O_,"u")}var Wu=/^(?:(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\.){3}(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])$/,Vu=/^(([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,7}:|([0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,5}(:[0-9a-fA-F]{1,4}){1,2}|([0-9a-fA-F]{1,4}:){1,4}(:[0-9a-fA-F]{1,4}){1,3}|([0-9a-fA-F]{1,4}:){1,3}(:[0-9a-fA-F]{1,4}){1,4}|([0-9a-fA-F]{1,4}:){1,2}(:[0-9a-fA-F]{1,4}){1,5}|[0-9a-fA-F]{1,4}:((:[0-9a-fA-F]{1,4}){1,6})|:((:[0-9a-fA-F]{1,4}){1,7}|:))$/;var Yu=/^((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\/([0-9]|[1-2][0-9]|3[0-2])$/,Ju=/^(([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,7}:|([0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,5}(:[0-9a-fA-F]{1,4}){1,2}|([0-9a-fA-F]{1,4}:){1,4}(:[0-9a-fA-F]{1,4}){1,3}|([0-9a-fA-F]{1,4}:){1,3}(:[0-9a-fA-F]{1,4}){1,4}|([0-9a-fA-F]{1,4}:){1,2}(:[0-9a-fA-F]{1,4}){1,5}|[0-9a-fA-F]{1,4}:((:[0-9a-fA-F]{1,4}){1,6})|:((:[0-9a-fA-F]{1,4}){1,7}|:))\/(12[0-8]|1[01][0-9]|[1-9]?[0-9])$/,Xu=/^$|^(?:[0-9a-zA-Z+/]{4})*(?:(?:[0-9a-zA-Z+/]{2}==)|(?:[0-9a-zA-Z+/]{3}=))?$/,Qu=/^(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-]{2,3})?$/;var ec=/^https?$/,tc=/^\+[1-9]\d{6,14}$/;var rc="(?:(?:\\d\\d[2468][048]|\\d\\d[13579][26]|\\d\\d0[48]|[02468][048]00|[13579][26]00)-02-29|\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|(?:02)-(?:0[1-9]|1\\d|2[0-8])))";function P_(t){return new RegExp(`^${t}$`)}var oc=P_(rc);function Fs(t){let e="(?:[01]\\d|2[0-3]):[0-5]\\d";return typeof t.precision=="number"?t.precision===-1?`${e}`:t.precision===0?`${e}:[0-5]\\d`:`${e}:[0-5]\\d\\.\\d{${t.precision}}`:t.seconds?`${e}:[0-5]\\d(?:\\.\\d+)?`:`${e}(?::[0-5]\\d(?:\\.\\d+)?)?`}function nc(t){return new RegExp(`^${Fs(t)}$`)}function sc(t){let e=["Z"];t.offset&&e.push("([+-](?:[01]\\d|2[0-3]):[0-5]\\d)");let r=`${Fs({precision:t.precision,seconds:!0})}(?:${e.join("|")})`,o=t.local?`${r}|${Fs({precision:t.precision})}`:r;return new RegExp(`^${rc}T(?:${o})$`)}var ic=/^[\s\S]{0,}$/;var ac=/^-?\d+n?$/,Ks=/^-?\d+$/,Pr=/^-?\d+(?:\.\d+)?$/,uc=/^(?:true|false)$/i;var cc=/^[^A-Z]*$/,lc=/^[^a-z]*$/;var ne=w("$ZodCheck",(t,e)=>{var r;t._zod??(t._zod={}),t._zod.def=e,(r=t._zod).onattach??(r.onattach=[])});var Gs=t=>{let e=t.value;return!$s(e)&&e.length!==void 0},No={number:"number",bigint:"bigint",object:"date"},Ws=w("$ZodCheckLessThan",(t,e)=>{ne.init(t,e);let r=No[typeof e.value];t._zod.check=o=>{(e.inclusive?o.value<=e.value:o.value<e.value)||o.issues.push({origin:No[typeof o.value]??r,code:"too_big",maximum:typeof e.value=="object"?e.value.getTime():e.value,input:o.value,inclusive:e.inclusive,inst:t,continue:!e.abort})}}),Vs=w("$ZodCheckGreaterThan",(t,e)=>{ne.init(t,e);let r=No[typeof e.value];t._zod.check=o=>{(e.inclusive?o.value>=e.value:o.value>e.value)||o.issues.push({origin:No[typeof o.value]??r,code:"too_small",minimum:typeof e.value=="object"?e.value.getTime():e.value,input:o.value,inclusive:e.inclusive,inst:t,continue:!e.abort})}}),fc=w("$ZodCheckMultipleOf",(t,e)=>{ne.init(t,e),t._zod.check=r=>{if(typeof r.value!=typeof e.value)throw new Error("Cannot mix number and bigint in multiple_of check.");(typeof r.value=="bigint"?e.value!==BigInt(0)&&r.value%e.value===BigInt(0):Os(r.value,e.value)===0)||r.issues.push({origin:typeof r.value,code:"not_multiple_of",divisor:e.value,input:r.value,inst:t,continue:!e.abort})}}),dc=w("$ZodCheckNumberFormat",(t,e)=>{ne.init(t,e),e.format=e.format||"float64";let r=e.format?.includes("int"),o=r?"int":"number",[n,s]=Tr[e.format];t._zod.check=i=>{let a=i.value;if(r){if(!Number.isInteger(a)){i.issues.push({expected:o,format:e.format,code:"invalid_type",continue:!1,input:a,inst:t});return}if(!Number.isSafeInteger(a)){a>0?i.issues.push({input:a,code:"too_big",maximum:Number.MAX_SAFE_INTEGER,note:"Integers must be within the safe integer range.",inst:t,origin:o,inclusive:!0,continue:!e.abort}):i.issues.push({input:a,code:"too_small",minimum:Number.MIN_SAFE_INTEGER,note:"Integers must be within the safe integer range.",inst:t,origin:o,inclusive:!0,continue:!e.abort});return}}a<n&&i.issues.push({origin:"number",input:a,code:"too_small",minimum:n,inclusive:!0,inst:t,continue:!e.abort}),a>s&&i.issues.push({origin:"number",input:a,code:"too_big",maximum:s,inclusive:!0,inst:t,continue:!e.abort})}});var pc=w("$ZodCheckMaxLength",(t,e)=>{var r;ne.init(t,e),(r=t._zod.def).when??(r.when=Gs),t._zod.check=o=>{let n=o.value,s=n.length;if((typeof n=="string"&&s>e.maximum?$r(n):s)<=e.maximum)return;let a=Or(n);o.issues.push({origin:a,code:"too_big",maximum:e.maximum,inclusive:!0,input:n,inst:t,continue:!e.abort})}}),mc=w("$ZodCheckMinLength",(t,e)=>{var r;ne.init(t,e),(r=t._zod.def).when??(r.when=Gs),t._zod.check=o=>{let n=o.value,s=n.length;if((typeof n=="string"&&s>=e.minimum&&s<e.minimum*2?$r(n):s)>=e.minimum)return;let a=Or(n);o.issues.push({origin:a,code:"too_small",minimum:e.minimum,inclusive:!0,input:n,inst:t,continue:!e.abort})}}),hc=w("$ZodCheckLengthEquals",(t,e)=>{var r;ne.init(t,e),(r=t._zod.def).when??(r.when=Gs),t._zod.check=o=>{let n=o.value,s=n.length,i=typeof n=="string"&&s>=e.length&&s<=e.length*2?$r(n):s;if(i===e.length)return;let a=Or(n),u=i>e.length;o.issues.push({origin:a,...u?{code:"too_big",maximum:e.length}:{code:"too_small",minimum:e.length},inclusive:!0,exact:!0,input:o.value,inst:t,continue:!e.abort})}}),Mr=w("$ZodCheckStringFormat",(t,e)=>{var r,o;ne.init(t,e),e.pattern?(r=t._zod).check??(r.check=n=>{e.pattern.lastIndex=0,!e.pattern.test(n.value)&&n.issues.push({origin:"string",code:"invalid_format",format:e.format,input:n.value,...e.pattern?{pattern:e.pattern.toString()}:{},inst:t,continue:!e.abort})}):(o=t._zod).check??(o.check=()=>{})}),gc=w("$ZodCheckRegex",(t,e)=>{Mr.init(t,e),t._zod.check=r=>{e.pattern.lastIndex=0,!e.pattern.test(r.value)&&r.issues.push({origin:"string",code:"invalid_format",format:"regex",input:r.value,pattern:e.pattern.toString(),inst:t,continue:!e.abort})}}),wc=w("$ZodCheckLowerCase",(t,e)=>{e.pattern??(e.pattern=cc),Mr.init(t,e)}),_c=w("$ZodCheckUpperCase",(t,e)=>{e.pattern??(e.pattern=lc),Mr.init(t,e)}),xc=w("$ZodCheckIncludes",(t,e)=>{ne.init(t,e);let r=Xe(e.includes),o=new RegExp(typeof e.position=="number"?`^.{${e.position},}${r}`:r);e.pattern=o,t._zod.check=n=>{n.value.includes(e.includes,e.position)||n.issues.push({origin:"string",code:"invalid_format",format:"includes",includes:e.includes,input:n.value,inst:t,continue:!e.abort})}}),yc=w("$ZodCheckStartsWith",(t,e)=>{ne.init(t,e);let r=new RegExp(`^${Xe(e.prefix)}.*`);e.pattern??(e.pattern=r),t._zod.check=o=>{o.value.startsWith(e.prefix)||o.issues.push({origin:"string",code:"invalid_format",format:"starts_with",prefix:e.prefix,input:o.value,inst:t,continue:!e.abort})}}),bc=w("$ZodCheckEndsWith",(t,e)=>{ne.init(t,e);let r=new RegExp(`.*${Xe(e.suffix)}$`);e.pattern??(e.pattern=r),t._zod.check=o=>{o.value.endsWith(e.suffix)||o.issues.push({origin:"string",code:"invalid_format",format:"ends_with",suffix:e.suffix,input:o.value,inst:t,continue:!e.abort})}});var vc=w("$ZodCheckOverwrite",(t,e)=>{ne.init(t,e),t._zod.check=r=>{r.value=e.tx(r.value)}});var Lo=class{constructor(e=[],r={}){this.content=[],this.indent=0,this.args=e,this.closed=r}indented(e){this.indent+=1;try{e(this)}finally{this.indent-=1}}write(e){if(typeof e=="function"){e(this,{execution:"sync"}),e(this,{execution:"async"});return}let o=e.split(`
`).filter(i=>i),n=Math.min(...o.map(i=>i.length-i.trimStart().length)),s=o.map(i=>i.slice(n)).map(i=>" ".repeat(this.indent*2)+i);for(let i of s)this.content.push(i)}compile(){let e=Function,r=this?.content??[""];return new e(...Object.keys(this.closed),`return function (${this.args.join(", ")}) {
${r.join(`
`)}
};`)(...Object.values(this.closed))}};var kc={major:4,minor:6,patch:7};var U=w("$ZodType",(t,e)=>{var r;t??(t={}),t._zod.def=e,t._zod.bag=t._zod.bag||{},t._zod.version=kc;let o=t._zod.def.checks,n=t._zod.traits.has("$ZodCheck")?[t,...o??[]]:o?.length?[...o]:[];for(let s of n)for(let i of s._zod.onattach)i(t);if(n.length===0)(r=t._zod).deferred??(r.deferred=[]),t._zod.deferred?.push(()=>{t._zod.run=t._zod.parse});else{let s=(a,u,c)=>{if(a.memo)return a;let l=he(a),f;for(let d of u){if(d._zod.def.when){if(Ls(a)||!d._zod.def.when(a))continue}else if(l)continue;let p=a.issues.length,m=d._zod.check(a);if(m instanceof Promise&&c?.async===!1)throw new Ne;if(f||m instanceof Promise)f=(f??Promise.resolve()).then(async()=>{await m,a.issues.length!==p&&(zr(a.issues,p,t),l||(l=he(a,p)))});else{if(a.issues.length===p)continue;zr(a.issues,p,t),l||(l=he(a,p))}}return f?f.then(()=>a):a},i=(a,u,c)=>{if(he(a))return a.aborted=!0,a;let l=s(u,n,c);if(l instanceof Promise){if(c.async===!1)throw new Ne;return l.then(f=>t._zod.parse(f,c))}return t._zod.parse(l,c)};t._zod.run=(a,u)=>{if(u.skipChecks)return t._zod.parse(a,u);if(u.direction==="backward"){let l=t._zod.parse({value:a.value,issues:[]},{...u,skipChecks:!0});return l instanceof Promise?l.then(f=>i(f,a,u)):i(l,a,u)}let c=t._zod.parse(a,u);if(c instanceof Promise){if(u.async===!1)throw new Ne;return c.then(l=>s(l,n,u))}return s(c,n,u)}}},{get"~standard"(){return $o(this,"~standard",Js(this))},set"~standard"(t){ct(this,"~standard",t)}}),Dc=(t,e)=>t.issues.length?{issues:t.issues.map(r=>Ie(r,e,ge()))}:{value:t.value};async function R_(t,e){let r={async:!0};return Dc(await t._zod.run({value:e,issues:[]},r),r)}function Js(t){return{validate:e=>{let r={async:!1};try{let o=t._zod.run({value:e,issues:[]},r);if(!(o instanceof Promise))return Dc(o,r)}catch{}return R_(t,e)},vendor:"zod",version:1}}var Uo=w("$ZodString",(t,e)=>{U.init(t,e),t._zod.pattern=e.pattern??ic,t._zod.parse=(r,o)=>{if(e.coerce)try{r.value=String(r.value)}catch{}return typeof r.value=="string"||r.issues.push({expected:"string",code:"invalid_type",input:r.value,inst:t}),r}}),q=w("$ZodStringFormat",(t,e)=>{Mr.init(t,e),Uo.init(t,e)}),Bc=w("$ZodGUID",(t,e)=>{e.pattern??(e.pattern=Hu),q.init(t,e)}),Uc=w("$ZodUUID",(t,e)=>{if(e.version){let o={v1:1,v2:2,v3:3,v4:4,v5:5,v6:6,v7:7,v8:8}[e.version];if(o===void 0)throw new Error(`Invalid UUID version: "${e.version}"`);e.pattern??(e.pattern=Hs(o))}else e.pattern??(e.pattern=Hs());q.init(t,e)}),Zc=w("$ZodEmail",(t,e)=>{e.pattern??(e.pattern=Ku),q.init(t,e)}),jc=1,Do=2;function qc(t){try{return typeof URL<"u"&&typeof URL.canParse=="function"?URL.canParse(t):(new URL(t),!0)}catch{return!1}}function M_(t,e){return!("normalize"in e)&&!("hostname"in e)&&!("protocol"in e)?qc(t)||Do:I_(t,e)}function I_(t,e){if(!e.normalize&&e.protocol?.source===ec.source&&!/^https?:\/\//i.test(t))return jc;try{if(typeof URL<"u"){let r=URL;if(typeof r.parse=="function")return r.parse(t)??Do}return new URL(t)}catch{return Do}}var N_=/[\t\n\r]/g;function Ec(t){return t.replace(N_,"")}function L_(t,e){return e.lastIndex=0,e.test(t.hostname)}function C_(t,e){return e.lastIndex=0,e.test(t.protocol.endsWith(":")?t.protocol.slice(0,-1):t.protocol)}var Fc=w("$ZodURL",(t,e)=>{q.init(t,e),t._zod.check=r=>{try{let o=r.value.trim(),n=M_(o,e);if(n===jc){r.issues.push({code:"invalid_format",format:"url",note:"Invalid URL format",input:r.value,inst:t,continue:!e.abort});return}if(n===Do){r.issues.push({code:"invalid_format",format:"url",input:r.value,inst:t,continue:!e.abort});return}if(n===!0){r.value=Ec(o);return}e.hostname&&!L_(n,e.hostname)&&r.issues.push({code:"invalid_format",format:"url",note:"Invalid hostname",pattern:e.hostname.source,input:r.value,inst:t,continue:!e.abort}),e.protocol&&!C_(n,e.protocol)&&r.issues.push({code:"invalid_format",format:"url",note:"Invalid protocol",pattern:e.protocol.source,input:r.value,inst:t,continue:!e.abort}),r.value=e.normalize?n.href:Ec(o);return}catch{r.issues.push({code:"invalid_format",format:"url",input:r.value,inst:t,continue:!e.abort})}}}),Hc=w("$ZodEmoji",(t,e)=>{e.pattern??(e.pattern=Gu()),q.init(t,e)}),Kc=w("$ZodNanoID",(t,e)=>{if(e.length!==void 0&&(!Number.isInteger(e.length)||e.length<1))throw new Error(`Invalid nanoid length: ${e.length}`);e.pattern??(e.pattern=e.length===void 0?ju:qu(e.length)),q.init(t,e)}),Gc=w("$ZodCUID",(t,e)=>{e.pattern??(e.pattern=Cu),q.init(t,e)}),Wc=w("$ZodCUID2",(t,e)=>{e.pattern??(e.pattern=Du),q.init(t,e)}),Vc=w("$ZodULID",(t,e)=>{e.pattern??(e.pattern=Bu),q.init(t,e)}),Yc=w("$ZodXID",(t,e)=>{e.pattern??(e.pattern=Uu),q.init(t,e)}),Jc=w("$ZodKSUID",(t,e)=>{e.pattern??(e.pattern=Zu),q.init(t,e)}),Xc=w("$ZodISODateTime",(t,e)=>{e.pattern??(e.pattern=sc(e)),q.init(t,e)}),Qc=w("$ZodISODate",(t,e)=>{e.pattern??(e.pattern=oc),q.init(t,e)}),el=w("$ZodISOTime",(t,e)=>{e.pattern??(e.pattern=nc(e)),q.init(t,e)}),tl=w("$ZodISODuration",(t,e)=>{e.pattern??(e.pattern=Fu),q.init(t,e)}),rl=w("$ZodIPv4",(t,e)=>{e.pattern??(e.pattern=Wu),q.init(t,e)}),D_=/^[0-9a-fA-F:.]+$/;function ol(t){return D_.test(t)?qc(`http://[${t}]`):!1}var nl=w("$ZodIPv6",(t,e)=>{e.pattern??(e.pattern=Vu),q.init(t,e),t._zod.check=r=>{ol(r.value)||r.issues.push({code:"invalid_format",format:"ipv6",input:r.value,inst:t,continue:!e.abort})}});var sl=w("$ZodCIDRv4",(t,e)=>{e.pattern??(e.pattern=Yu),q.init(t,e)});function B_(t){let e=t.split("/");if(e.length!==2)return!1;let[r,o]=e;if(!o)return!1;let n=Number(o);return`${n}`!==o||n<0||n>128?!1:ol(r)}var il=w("$ZodCIDRv6",(t,e)=>{e.pattern??(e.pattern=Ju),q.init(t,e),t._zod.check=r=>{B_(r.value)||r.issues.push({code:"invalid_format",format:"cidrv6",input:r.value,inst:t,continue:!e.abort})}});function al(t){if(t==="")return!0;if(/\s/.test(t)||t.length%4!==0)return!1;try{return atob(t),!0}catch{return!1}}var Xs=/^[0-9a-zA-Z+/]*={0,2}$/,ul=w("$ZodBase64",(t,e)=>{e.pattern??(e.pattern=Xs),q.init(t,e),t._zod.check=r=>{al(r.value)||r.issues.push({code:"invalid_format",format:"base64",input:r.value,inst:t,continue:!e.abort})}}),Zo=/^[A-Za-z0-9_-]*$/;function U_(t){if(!Zo.test(t))return!1;let e=t.replace(/[-_]/g,o=>o==="-"?"+":"/"),r=e.padEnd(Math.ceil(e.length/4)*4,"=");return al(r)}var cl=w("$ZodBase64URL",(t,e)=>{e.pattern??(e.pattern=Zo),q.init(t,e),t._zod.check=r=>{U_(r.value)||r.issues.push({code:"invalid_format",format:"base64url",input:r.value,inst:t,continue:!e.abort})}}),ll=w("$ZodE164",(t,e)=>{e.pattern??(e.pattern=tc),q.init(t,e)});function Z_(t,e=null){try{let r=t.split(".");if(r.length!==3)return!1;let[o]=r;if(!o)return!1;let n=JSON.parse(atob(o));return!("typ"in n&&n?.typ!=="JWT"||!n.alg||e&&(!("alg"in n)||n.alg!==e))}catch{return!1}}var fl=w("$ZodJWT",(t,e)=>{q.init(t,e),t._zod.check=r=>{Z_(r.value,e.alg)||r.issues.push({code:"invalid_format",format:"jwt",input:r.value,inst:t,continue:!e.abort})}});var Qs=w("$ZodNumber",(t,e)=>{U.init(t,e),t._zod.pattern=Pr,t._zod.parse=(r,o)=>{if(e.coerce)try{r.value=Number(r.value)}catch{}let n=r.value;if(typeof n=="number"&&!Number.isNaN(n)&&Number.isFinite(n))return r;let s=typeof n=="number"?Number.isNaN(n)?"NaN":Number.isFinite(n)?void 0:String(n):void 0;return r.issues.push({expected:"number",code:"invalid_type",input:n,inst:t,...s?{received:s}:{}}),r}}),dl=w("$ZodNumberFormat",(t,e)=>{dc.init(t,e),Qs.init(t,e)}),pl=w("$ZodBoolean",(t,e)=>{U.init(t,e),t._zod.pattern=uc,t._zod.parse=(r,o)=>{if(e.coerce)try{r.value=!!r.value}catch{}let n=r.value;return typeof n=="boolean"||r.issues.push({expected:"boolean",code:"invalid_type",input:n,inst:t}),r}}),ml=w("$ZodBigInt",(t,e)=>{U.init(t,e),t._zod.pattern=ac,t._zod.parse=(r,o)=>{if(e.coerce)try{r.value=BigInt(r.value)}catch{}return typeof r.value=="bigint"||r.issues.push({expected:"bigint",code:"invalid_type",input:r.value,inst:t}),r}});var hl=w("$ZodUnknown",(t,e)=>{U.init(t,e),t._zod.parse=r=>r}),gl=w("$ZodNever",(t,e)=>{U.init(t,e),t._zod.parse=(r,o)=>(r.issues.push({expected:"never",code:"invalid_type",input:r.value,inst:t}),r)});var wl=w("$ZodDate",(t,e)=>{U.init(t,e),t._zod.parse=(r,o)=>{if(e.coerce)try{r.value=new Date(r.value)}catch{}let n=r.value,s=n instanceof Date;return s&&!Number.isNaN(n.getTime())||r.issues.push({expected:"date",code:"invalid_type",input:n,...s?{received:"Invalid Date"}:{},inst:t}),r}});function j_(t,e){let r=zo(t._zod.def.checks);if(!r.length)return;let o=Math.min(...r.map(s=>s[0])),n=t._zod.parse;t._zod.parse=(s,i)=>{let a=e(s.value);if(a>o&&!i?.skipChecks&&i?.direction!=="backward"){for(let[u,c]of zo(t._zod.def.checks))if(a>u&&c._zod.def.when(s)){let l=s.issues.length;return c._zod.check(s),s.issues[l].continue=!1,zr(s.issues,l,t),s}}return n(s,i)}}var q_=t=>Array.isArray(t)?t.length:-1;function Ac(t,e,r){t.issues.length&&e.issues.push(...Me(r,t.issues)),e.value[r]=t.value}var _l=w("$ZodArray",(t,e)=>{U.init(t,e);let r=pe.memoizer;r?.attach(t),t._zod.parse=(o,n)=>{let s=o.value;if(!Array.isArray(s))return o.issues.push({expected:"array",code:"invalid_type",input:s,inst:t}),o;o.value=r?r.alloc(t,o,Array(s.length),n):Array(s.length);let i=[],a=n?.abortEarly;for(let u=0;u<s.length;u++){let c=s[u],l=e.element._zod.run({value:c,issues:[]},n);if(l instanceof Promise)i.push(l.then(f=>Ac(f,o,u)));else if(Ac(l,o,u),a&&l.issues.length!==0&&he(l))break}return i.length?Promise.all(i).then(()=>o):o},j_(t,q_)});function Bo(t,e,r,o,n,s){let i=r in o,a=s==="optional";if(!(!i&&a&&n==="optional")){if(t.issues.length){if(n!==void 0&&a&&!i)return;e.issues.push(...Me(r,t.issues))}if(!i&&n===void 0){t.issues.length||e.issues.push({code:"invalid_type",expected:"nonoptional",input:void 0,path:[r]});return}t.value===void 0?(i||n==="defaulted"&&!a)&&(e.value[r]=void 0):e.value[r]=t.value}}var F_=[];function xl(t){let e=Object.keys(t.shape),r=Object.getOwnPropertySymbols(t.shape),o=r.length?r:F_,n=o.length?[...e,...o]:e;for(let i of n)if(!t.shape?.[i]?._zod?.traits?.has("$ZodType"))throw new Error(`Invalid element at key "${String(i)}": expected a Zod schema`);let s=Ns(t.shape);return{...t,allKeys:n,symbolKeys:o,keySet:new Set(e),numKeys:e.length,optionalKeys:new Set(s)}}function yl(t,e,r,o,n,s,i){let a=[],u=n.keySet,c=n.catchall._zod,l=c.def.type,f=c.optin,d=c.optout,p=0;for(let m in e){if(i&&r.issues.length!==p){if(he(r,p))break;p=r.issues.length}if(u.has(m))continue;if(m==="__proto__"){l==="never"&&a.push(m);continue}if(l==="never"){a.push(m);continue}let h=c.run({value:e[m],issues:[]},o);h instanceof Promise?t.push(h.then(g=>Bo(g,r,m,e,f,d))):Bo(h,r,m,e,f,d)}return a.length&&r.issues.push({code:"unrecognized_keys",keys:a,input:e,inst:s,continue:!0}),t.length?Promise.all(t).then(()=>r):r}var H_=w("$ZodObject",(t,e)=>{U.init(t,e);let r=Object.getOwnPropertyDescriptor(e,"shape"),o=r?.get?r.get.raw:e.shape??{};if(o){let c=()=>{let l={...o};return Object.defineProperty(e,"shape",{value:l}),c.raw=l,l};c.raw=o,Object.defineProperty(e,"shape",{get:c})}let n=kr(()=>xl(e));N(t,"propValues",c=>{let l=c.def.shape,f={};for(let d in l){let p=l[d]._zod;if(p.values){Object.prototype.hasOwnProperty.call(f,d)||ke(f,d,new Set);for(let m of p.values)f[d].add(m);p.optin!==void 0&&f[d].add(void 0)}}return f});let s=Ht,i=e.catchall,a,u=pe.memoizer;u?.attach(t),t._zod.parse=(c,l)=>{a??(a=n.value);let f=c.value;if(!s(f))return c.issues.push({expected:"object",code:"invalid_type",input:f,inst:t}),c;c.value=u?u.alloc(t,c,{},l):{};let d=[],p=a.shape,m=l?.abortEarly,h=c.issues.length;for(let g of a.allKeys){if(m&&c.issues.length!==h){if(he(c,h))break;h=c.issues.length}if(g==="__proto__")continue;let _=p[g],x=_._zod.optin,A=_._zod.optout,M=_._zod.run({value:f[g],issues:[]},l);M instanceof Promise?d.push(M.then(T=>Bo(T,c,g,f,x,A))):Bo(M,c,g,f,x,A)}return i?yl(d,f,c,l,n.value,t,m===!0):d.length?Promise.all(d).then(()=>c):c}}),bl=w("$ZodObjectJIT",(t,e)=>{H_.init(t,e);let r=t._zod.parse,o=kr(()=>xl(e)),n=pe.memoizer,s=p=>{let m=o.value,h=m.symbolKeys,g=new Lo(["payload","ctx"],{shape:p,inst:t,memo:n,syms:h}),_=T=>`shape[${T}]._zod.run({ value: input[${T}], issues: [] }, ctx)`,x=(T,$)=>`
          let ${T}_ab = false;
          for (let i = 0; i < ${T}.issues.length; i++) {
            const iss = ${T}.issues[i];
            iss.path = iss.path ? [${$}, ...iss.path] : [${$}];
            payload.issues.push(iss);
            if (iss.continue !== true) ${T}_ab = true;
          }
          if (${T}_ab && ctx && ctx.abortEarly) {
            payload.value = newResult;
            return payload;
          }`;g.write("const input = payload.value;");let A=Object.create(null),M=0;for(let T of m.allKeys)A[T]=`key_${M++}`;g.write(n?"const newResult = memo.alloc(inst, payload, {}, ctx);":"const newResult = {};");for(let T of m.allKeys){if(T==="__proto__")continue;let $=A[T],I=typeof T=="symbol"?`syms[${h.indexOf(T)}]`:Ps(T),Z=`${I} in input`,oe=p[T],Se=oe?._zod?.optin,bt=Se!==void 0,K=oe?._zod?.optout==="optional";if(g.write(`const ${$} = ${_(I)};`),bt&&K){let Fe=Se==="optional"?`${$}_present`:`${$}.value !== undefined || ${$}_present`;g.write(`
        const ${$}_present = ${Z};
        if (!${$}.issues.length || ${$}_present) {
          if (${$}.issues.length) {${x($,I)}
          }

          if (${Fe}) {
            newResult[${I}] = ${$}.value;
          }
        }

      `)}else bt?(g.write(`
        if (${$}.issues.length) {${x($,I)}
        }
      `),Se==="defaulted"?g.write(`newResult[${I}] = ${$}.value;`):g.write(`
        if (${$}.value !== undefined || ${Z}) {
          newResult[${I}] = ${$}.value;
        }
      `)):g.write(`
        const ${$}_present = ${Z};
        if (${$}.issues.length) {${x($,I)}
        }
        if (!${$}_present && !${$}.issues.length) {
          payload.issues.push({
            code: "invalid_type",
            expected: "nonoptional",
            input: undefined,
            path: [${I}]
          });
          if (ctx && ctx.abortEarly) {
            payload.value = newResult;
            return payload;
          }
        }

        if (${$}_present) {
          newResult[${I}] = ${$}.value;
        }

      `)}return g.write("payload.value = newResult;"),g.write("return payload;"),g.compile()},i,a=Ht,u=!pe.jitless,l=u&&Ms.value,f=e.catchall,d;t._zod.parse=(p,m)=>{d??(d=o.value);let h=p.value;return a(h)?u&&l&&m?.async===!1&&m.jitless!==!0?(i||(i=s(e.shape)),p=i(p,m),f?yl([],h,p,m,d,t,m?.abortEarly===!0):p):r(p,m):(p.issues.push({expected:"object",code:"invalid_type",input:h,inst:t}),p)}});function Tc(t,e,r,o){for(let s of t)if(s.issues.length===0)return e.value=s.value,e;let n=t.filter(s=>!he(s));return n.length===1?(e.value=n[0].value,n[0]):(e.issues.push({code:"invalid_union",input:e.value,inst:r,errors:t.map(s=>s.issues.map(i=>Ie(i,o,ge())))}),e)}var vl=w("$ZodUnion",(t,e)=>{U.init(t,e),N(t,"optin",o=>o.def.options.some(n=>n._zod.optin==="defaulted")?"defaulted":o.def.options.some(n=>n._zod.optin!==void 0)?"optional":void 0),N(t,"optout",o=>o.def.options.some(n=>n._zod.optout==="optional")?"optional":void 0),N(t,"values",o=>{if(o.def.options.every(n=>n._zod.values))return new Set(o.def.options.flatMap(n=>Array.from(n._zod.values)))}),N(t,"pattern",o=>{if(o.def.options.every(n=>n._zod.pattern)){let n=o.def.options.map(s=>s._zod.pattern);return new RegExp(`^(${n.map(s=>Er(s.source)).join("|")})$`)}});let r=e.options.length===1?e.options[0]._zod.run:null;t._zod.parse=(o,n)=>{if(r)return r(o,n);let s=!1,i=[];for(let a of e.options){let u=a._zod.run({value:o.value,issues:[]},n);if(u instanceof Promise)i.push(u),s=!0;else{if(u.issues.length===0)return u;i.push(u)}}return s?Promise.all(i).then(a=>Tc(a,o,t,n)):Tc(i,o,t,n)}});var Sl=w("$ZodIntersection",(t,e)=>{U.init(t,e),t._zod.parse=(r,o)=>{let n=r.value,s=e.left._zod.run({value:n,issues:[]},o),i=e.right._zod.run({value:n,issues:[]},o);return s instanceof Promise||i instanceof Promise?Promise.all([s,i]).then(([u,c])=>zc(r,u,c)):zc(r,s,i)}});function Ys(t,e){if(t===e)return{valid:!0,data:t};if(t instanceof Date&&e instanceof Date&&+t==+e)return{valid:!0,data:t};if(lt(t)&&lt(e)){let r=Object.keys(e),o=Object.keys(t).filter(s=>r.indexOf(s)!==-1),n={...t,...e};Object.prototype.hasOwnProperty.call(n,"__proto__")&&delete n.__proto__;for(let s of o){if(s==="__proto__")continue;let i=Ys(t[s],e[s]);if(!i.valid)return{valid:!1,mergeErrorPath:[s,...i.mergeErrorPath]};n[s]=i.data}return{valid:!0,data:n}}if(Array.isArray(t)&&Array.isArray(e)){if(t.length!==e.length)return{valid:!1,mergeErrorPath:[]};let r=[];for(let o=0;o<t.length;o++){let n=t[o],s=e[o],i=Ys(n,s);if(!i.valid)return{valid:!1,mergeErrorPath:[o,...i.mergeErrorPath]};r.push(i.data)}return{valid:!0,data:r}}return{valid:!1,mergeErrorPath:[]}}function zc(t,e,r){let o=new Map,n,s=new Map,i=(c,l)=>{let f;if(c.code==="unrecognized_keys"&&!c.path?.length)n??(n=c),f=c.keys;else if(c.code==="invalid_key"&&c.origin==="record"&&c.path?.length===1){let d=String(c.path[0]);s.has(d)||s.set(d,c),f=[d]}else return!1;for(let d of f)o.has(d)||o.set(d,{}),o.get(d)[l]=!0;return!0};for(let c of e.issues)i(c,"l")||t.issues.push(c);for(let c of r.issues)i(c,"r")||t.issues.push(c);let a=[...o].filter(([,c])=>c.l&&c.r).map(([c])=>c);if(a.length){let c=n?a.filter(l=>n.keys.includes(l)):[];c.length&&t.issues.push({...n,keys:c});for(let l of a)!c.includes(l)&&s.has(l)&&t.issues.push(s.get(l))}let u=Ys(e.value,r.value);if(!u.valid){if(he(t))return t;throw new Error(`Unmergable intersection. Error path: ${JSON.stringify(u.mergeErrorPath)}`)}return t.value=u.data,t}var kl=w("$ZodTuple",(t,e)=>{U.init(t,e);let r=e.items,o=pe.memoizer;o?.attach(t),t._zod.parse=(n,s)=>{let i=n.value;if(!Array.isArray(i))return n.issues.push({input:i,inst:t,expected:"tuple",code:"invalid_type"}),n;n.value=o?o.alloc(t,n,[],s):[];let a=[],u=$c(r,"optin"),c=$c(r,"optout");if(!e.rest){if(i.length<u)return n.issues.push({code:"too_small",minimum:u,inclusive:!0,input:i,inst:t,origin:"array"}),n;i.length>r.length&&n.issues.push({code:"too_big",maximum:r.length,inclusive:!0,input:i,inst:t,origin:"array"})}let l=new Array(r.length),f=e.rest?s?.abortEarly:void 0,d=!1;for(let p=0;p<r.length;p++){let m=r[p]._zod.run({value:i[p],issues:[]},s);m instanceof Promise?a.push(m.then(h=>{l[p]=h})):(l[p]=m,f&&!d&&m.issues.length&&(d=he(m)))}if(e.rest&&!d){let p=r.length-1,m=i.slice(r.length),h=n.issues.length;for(let g of m){if(f&&n.issues.length!==h){if(he(n,h))break;h=n.issues.length}p++;let _=e.rest._zod.run({value:g,issues:[]},s);_ instanceof Promise?a.push(_.then(x=>Oc(x,n,p))):Oc(_,n,p)}}return a.length?Promise.all(a).then(()=>Pc(l,n,r,i,c)):Pc(l,n,r,i,c)}});function $c(t,e){for(let r=t.length-1;r>=0;r--)if(!(e==="optin"?t[r]._zod.optin!==void 0:t[r]._zod.optout==="optional"))return r+1;return 0}function Oc(t,e,r){t.issues.length&&e.issues.push(...Me(r,t.issues)),e.value[r]=t.value}function Pc(t,e,r,o,n){for(let s=0;s<r.length;s++){let i=t[s],a=s<o.length;if(!a&&s>=n&&r[s]._zod.optin==="optional"){e.value.length=s;break}if(i.issues.length){if(!a&&s>=n){e.value.length=s;break}e.issues.push(...Me(s,i.issues))}e.value[s]=i.value}for(let s=e.value.length-1;s>=o.length&&(r[s]._zod.optout==="optional"&&e.value[s]===void 0);s--)e.value.length=s;return e}var El=w("$ZodRecord",(t,e)=>{U.init(t,e);let r=pe.memoizer;r?.attach(t),t._zod.parse=(o,n)=>{let s=o.value;if(!lt(s))return o.issues.push({expected:"record",code:"invalid_type",input:s,inst:t}),o;let i=[],a=e.keyType._zod.values;if(a&&!e.partial){o.value=r?r.alloc(t,o,{},n):{};let u=new Set;for(let l of a)if(typeof l=="string"||typeof l=="number"||typeof l=="symbol"){if(u.add(typeof l=="number"?l.toString():l),l==="__proto__")continue;let f=e.keyType._zod.run({value:l,issues:[]},n);if(f instanceof Promise)throw new Error("Async schemas not supported in object keys currently");if(f.issues.length){o.issues.push({code:"invalid_key",origin:"record",issues:f.issues.map(m=>Ie(m,n,ge())),input:l,path:[l],inst:t});continue}let d=f.value;if(d==="__proto__")continue;let p=e.valueType._zod.run({value:s[l],issues:[]},n);p instanceof Promise?i.push(p.then(m=>{m.issues.length&&o.issues.push(...Me(l,m.issues)),o.value[d]=m.value})):(p.issues.length&&o.issues.push(...Me(l,p.issues)),o.value[d]=p.value)}let c;for(let l in s)if(!u.has(l))if(e.mode==="loose"){if(l==="__proto__")continue;o.value[l]=s[l]}else c=c??[],c.push(l);c&&c.length>0&&o.issues.push({code:"unrecognized_keys",input:s,inst:t,keys:c,continue:!0})}else{o.value=r?r.alloc(t,o,{},n):{};let u;for(let c of Reflect.ownKeys(s)){if(c==="__proto__"||!Object.prototype.propertyIsEnumerable.call(s,c))continue;let l=e.keyType._zod.run({value:c,issues:[]},n);if(l instanceof Promise)throw new Error("Async schemas not supported in object keys currently");if(typeof c=="string"&&Pr.test(c)&&l.issues.length){let m=e.keyType._zod.run({value:Number(c),issues:[]},n);if(m instanceof Promise)throw new Error("Async schemas not supported in object keys currently");m.issues.length===0&&(l=m)}if(l.issues.length){e.mode==="loose"?o.value[c]=s[c]:a?(u=u??[],u.push(c)):o.issues.push({code:"invalid_key",origin:"record",issues:l.issues.map(m=>Ie(m,n,ge())),input:c,path:[c],inst:t});continue}let d=l.value;if(d==="__proto__")continue;let p=e.valueType._zod.run({value:s[c],issues:[]},n);p instanceof Promise?i.push(p.then(m=>{m.issues.length&&o.issues.push(...Me(c,m.issues)),o.value[d]=m.value})):(p.issues.length&&o.issues.push(...Me(c,p.issues)),o.value[d]=p.value)}u&&u.length>0&&o.issues.push({code:"unrecognized_keys",input:s,inst:t,keys:u,continue:!0})}return i.length?Promise.all(i).then(()=>o):o}});var Al=w("$ZodEnum",(t,e)=>{U.init(t,e);let r=Kt(e.entries),o=new Set(r);t._zod.values=o,N(t,"pattern",n=>{let s=Kt(n.def.entries).filter(i=>Is.has(typeof i));return new RegExp(s.length?`^(${s.map(i=>Xe(i.toString())).join("|")})$`:"^[^\\s\\S]$")}),t._zod.parse=(n,s)=>{let i=n.value;return o.has(i)||n.issues.push({code:"invalid_value",values:r,input:i,inst:t}),n}}),Tl=w("$ZodLiteral",(t,e)=>{U.init(t,e);let r=new Set(e.values);t._zod.values=r,N(t,"pattern",o=>{let n=o.def.values;return new RegExp(n.length?`^(${n.map(s=>typeof s=="string"?Xe(s):s?Xe(s.toString()):String(s)).join("|")})$`:"^[^\\s\\S]$")}),t._zod.parse=(o,n)=>{let s=o.value;return r.has(s)||o.issues.push({code:"invalid_value",values:e.values,input:s,inst:t}),o}});var zl=w("$ZodTransform",(t,e)=>{U.init(t,e),t._zod.optin="optional",pe.memoizer?.guard(t),t._zod.parse=(r,o)=>{if(o.direction==="backward")throw new Vt(t.constructor.name);let n=e.transform(r.value,r);if(o.async)return(n instanceof Promise?n:Promise.resolve(n)).then(i=>(r.value=i,r));if(n instanceof Promise)throw new Ne;return r.value=n,r}});function Rc(t,e){return t.value=e.issues.length?void 0:e.value,t}var ei=w("$ZodOptional",(t,e)=>{U.init(t,e),N(t,"optin",r=>r.def.innerType._zod.optin==="defaulted"?"defaulted":"optional"),t._zod.optout="optional",N(t,"values",r=>{let o=r.def.innerType._zod.values;return o?new Set([...o,void 0]):void 0}),N(t,"pattern",r=>{let o=r.def.innerType._zod.pattern;return o?new RegExp(`^(${Er(o.source)})?$`):void 0}),t._zod.parse=(r,o)=>{if(r.value===void 0){if(e.innerType._zod.optin!=="defaulted")return r;let n=e.innerType._zod.run({value:r.value,issues:[]},o);return n instanceof Promise?n.then(s=>Rc(r,s)):Rc(r,n)}return e.innerType._zod.run(r,o)}}),$l=w("$ZodExactOptional",(t,e)=>{ei.init(t,e),N(t,"values",r=>r.def.innerType._zod.values),N(t,"pattern",r=>r.def.innerType._zod.pattern),t._zod.parse=(r,o)=>e.innerType._zod.run(r,o)}),Ol=w("$ZodNullable",(t,e)=>{U.init(t,e),N(t,"optin",r=>r.def.innerType._zod.optin),N(t,"optout",r=>r.def.innerType._zod.optout),N(t,"pattern",r=>{let o=r.def.innerType._zod.pattern;return o?new RegExp(`^(${Er(o.source)}|null)$`):void 0}),N(t,"values",r=>r.def.innerType._zod.values?new Set([...r.def.innerType._zod.values,null]):void 0),t._zod.parse=(r,o)=>r.value===null?r:e.innerType._zod.run(r,o)}),Pl=w("$ZodDefault",(t,e)=>{U.init(t,e),t._zod.optin="defaulted",N(t,"values",r=>r.def.innerType._zod.values),t._zod.parse=(r,o)=>{if(o.direction==="backward")return e.innerType._zod.run(r,o);if(r.value===void 0)return r.value=e.defaultValue,r;let n=e.innerType._zod.run(r,o);return n instanceof Promise?n.then(s=>Mc(s,e)):Mc(n,e)}});function Mc(t,e){return t.value===void 0&&(t.value=e.defaultValue),t}var Rl=w("$ZodPrefault",(t,e)=>{U.init(t,e),t._zod.optin="defaulted",N(t,"values",r=>r.def.innerType._zod.values),t._zod.parse=(r,o)=>(o.direction==="backward"||r.value===void 0&&(r.value=e.defaultValue),e.innerType._zod.run(r,o))}),Ml=w("$ZodNonOptional",(t,e)=>{U.init(t,e),N(t,"values",r=>{let o=r.def.innerType._zod.values;return o?new Set([...o].filter(n=>n!==void 0)):void 0}),t._zod.parse=(r,o)=>{let n=e.innerType._zod.run(r,o);return n instanceof Promise?n.then(s=>Ic(s,t)):Ic(n,t)}});function Ic(t,e){return!t.issues.length&&t.value===void 0&&t.issues.push({code:"invalid_type",expected:"nonoptional",input:t.value,inst:e}),t}function Nc(t,e,r,o){return e.issues.length?(t.value=r.catchValue({...e,value:t.value,error:{issues:e.issues.map(n=>Ie(n,o,ge()))},input:t.value}),t):(t.value=e.value,e.memo&&(t.memo=!0),t)}var Il=w("$ZodCatch",(t,e)=>{U.init(t,e),N(t,"optin",r=>r.def.innerType._zod.optin==="defaulted"?"defaulted":"optional"),N(t,"optout",r=>r.def.innerType._zod.optout),N(t,"values",r=>r.def.innerType._zod.values),t._zod.parse=(r,o)=>{if(o.direction==="backward")return e.innerType._zod.run(r,o);let n=e.innerType._zod.run({value:r.value,issues:[]},o);return n instanceof Promise?n.then(s=>Nc(r,s,e,o)):Nc(r,n,e,o)}});var Nl=w("$ZodPipe",(t,e)=>{U.init(t,e),N(t,"values",r=>r.def.in._zod.values),N(t,"optin",r=>r.def.in._zod.optin),N(t,"optout",r=>r.def.out._zod.optout),N(t,"propValues",r=>r.def.in._zod.propValues),t._zod.parse=(r,o)=>{if(o.direction==="backward"){let s=e.out._zod.run(r,o);return s instanceof Promise?s.then(i=>Co(i,e.in,o)):Co(s,e.in,o)}let n=e.in._zod.run(r,o);return n instanceof Promise?n.then(s=>Co(s,e.out,o)):Co(n,e.out,o)}});function Co(t,e,r){return t.issues.some(o=>o.code!=="unrecognized_keys")?(t.aborted=!0,t):e._zod.run({value:t.value,issues:t.issues},r)}var Ll=w("$ZodReadonly",(t,e)=>{U.init(t,e),N(t,"propValues",r=>r.def.innerType._zod.propValues),N(t,"values",r=>r.def.innerType._zod.values),N(t,"optin",r=>r.def.innerType?._zod?.optin),N(t,"optout",r=>r.def.innerType?._zod?.optout),t._zod.parse=(r,o)=>{if(o.direction==="backward")return e.innerType._zod.run(r,o);let n=e.innerType._zod.run(r,o);return n instanceof Promise?n.then(Lc):Lc(n)}});function Lc(t){return t.memo||(t.value=Object.freeze(t.value)),t}var Cl=w("$ZodCustom",(t,e)=>{ne.init(t,e),U.init(t,e),t._zod.parse=(r,o)=>r,t._zod.check=r=>{let o=r.value,n=e.fn(o);if(n instanceof Promise)return n.then(s=>Cc(s,r,o,t));Cc(n,r,o,t)}});function Cc(t,e,r,o){if(!t){let n={code:"custom",input:r,inst:o,path:[...o._zod.def.path??[]],continue:!o._zod.def.abort};o._zod.def.params&&(n.params=o._zod.def.params),e.issues.push(Wt(n))}}var ri=class extends Error{constructor(){super("Cannot parse a reference cycle that closes through a transform"),this.name="ZodCyclicError"}},oi="~memo",Dl=[];function Bl(t){return t!==null&&typeof t=="object"}function ti(t){return t.map(e=>e.path?{...e,path:e.path.slice()}:{...e})}var Ul=new WeakMap,Ir=0,Fo=1,Nr=2;function Ho(t,e,r){let o=Ul.get(t);if(o!==void 0)return o?Nr:Ir;if(e.has(t))return Nr;e.add(t);let n=Ir,s=l=>{if(n!==Nr&&l?._zod){let f=Ho(l,e,r);f>n&&(n=f)}},i=(l,f)=>{let d=Ir;for(let p of Reflect.ownKeys(l)){let m=Object.getOwnPropertyDescriptor(l,p);if(f&&!m.enumerable)continue;let h=m.get?Fo:m.value?._zod?Ho(m.value,e,r):Ir;h>d&&(d=h)}return d},a=l=>{l>n&&(n=l)},u=t._zod.def,c=u.type;switch(c){case"object":{let l=Ar(u);a(l?i(l,!0):Fo),s(u.catchall);break}case"array":s(u.element);break;case"tuple":for(let l of u.items)s(l);s(u.rest);break;case"record":case"map":s(u.keyType),s(u.valueType);break;case"set":s(u.valueType);break;case"union":for(let l of u.options)s(l);break;case"intersection":s(u.left),s(u.right);break;case"optional":case"nullable":case"default":case"prefault":case"catch":case"readonly":case"nonoptional":case"promise":case"success":s(u.innerType);break;case"pipe":s(u.in),s(u.out);break;case"function":s(u.input),s(u.output);break;case"lazy":{let l=u._cachedInner??(r?t._zod.innerType:void 0);a(l?Ho(l,e,!1):Fo);break}case"template_literal":case"string":case"number":case"int":case"boolean":case"bigint":case"symbol":case"undefined":case"null":case"void":case"never":case"any":case"unknown":case"date":case"nan":case"enum":case"literal":case"file":case"transform":case"custom":break;default:for(let l in u){let f=Object.getOwnPropertyDescriptor(u,l);if(!f||f.get)continue;let d=f.value;if(!(!d||typeof d!="object")){if(d._zod)s(d);else if(Array.isArray(d))for(let p of d)s(p)}}}return e.delete(t),K_(t,n)}function K_(t,e){return e!==Fo&&Ul.set(t,e===Nr),e}function G_(t,e){let r=t.buckets.get(e);return r||(r=new WeakMap,t.buckets.set(e,r)),r}var jo,qo=[],W_={alloc(t,e,r){let o=jo;if(!o)return r;jo=void 0;let n={value:r,issues:null};return o.set(e.value,n),qo.push(n),r},guard(t){var e;(e=t._zod).deferred??(e.deferred=[]),t._zod.deferred.push(()=>{let r=t._zod.parse,o=(n,s)=>{if(s.direction!=="backward"&&V_(s,n.value))throw new ri;return r(n,s)};t._zod.parse=o,t._zod.run===r&&(t._zod.run=o)})},attach(t){var e;let r,o=!1,n,s;(e=t._zod).deferred??(e.deferred=[]),t._zod.deferred.push(()=>{let i=t._zod.parse,a=(u,c)=>{if(r===void 0){let _=Ho(t,new Set,!1);if(_===Ir)return t._zod.parse=i,t._zod.run===a&&(t._zod.run=i),i(u,c);_===Nr||o?r=!0:o=!0}let l=u.value;if(!Bl(l))return i(u,c);let f=c[oi];f||(f={buckets:new WeakMap,backEdges:void 0},c[oi]=f);let d;n===c?d=s:(d=G_(f,t),n=c,s=d);let p=d.get(l);if(p)return u.value=p.value,p.issues?p.issues.length&&u.issues.push(...ti(p.issues)):(u.memo=!0,f.backEdges??(f.backEdges=new WeakSet),f.backEdges.add(p.value)),u;jo=d;let m=qo.length,h=i(u,c);jo=void 0;let g=qo.length>m?qo.pop():void 0;return h instanceof Promise?h.then(_=>(g&&(g.issues=_.issues.length?ti(_.issues):Dl),_)):(g&&(g.issues=h.issues.length?ti(h.issues):Dl),h)};t._zod.parse=a,t._zod.run===i&&(t._zod.run=a)})}};function Zl(){return W_}function V_(t,e){let r=t[oi]?.backEdges;return r!==void 0&&Bl(e)&&r.has(e)}var Y_=()=>{let t={string:{unit:"characters",verb:"to have"},file:{unit:"bytes",verb:"to have"},array:{unit:"items",verb:"to have"},set:{unit:"items",verb:"to have"},map:{unit:"entries",verb:"to have"}};function e(s){return t[s]??null}let r={regex:"input",email:"email address",url:"URL",emoji:"emoji",uuid:"UUID",uuidv4:"UUIDv4",uuidv6:"UUIDv6",nanoid:"nanoid",guid:"GUID",cuid:"cuid",cuid2:"cuid2",ulid:"ULID",xid:"XID",ksuid:"KSUID",datetime:"ISO datetime",date:"ISO date",time:"ISO time",duration:"ISO duration",ipv4:"IPv4 address",ipv6:"IPv6 address",mac:"MAC address",cidrv4:"IPv4 range",cidrv6:"IPv6 range",base64:"base64-encoded string",base64url:"base64url-encoded string",json_string:"JSON string",e164:"E.164 number",currency_code:"currency code",credit_card:"credit card number",iban:"IBAN",jwt:"JWT",template_literal:"input"},o={nan:"NaN"};function n(s,i){return s==="number"&&typeof i=="number"&&!Number.isFinite(i)?String(i):o[s]??s}return s=>{switch(s.code){case"invalid_type":{let i=n(s.expected),a=Cs(s.input),u=n(a,s.input);return`Invalid input: expected ${i}, received ${u}`}case"invalid_value":return s.values.length===1?`Invalid input: expected ${Eo(s.values[0])}`:`Invalid option: expected one of ${So(s.values,"|")}`;case"too_big":{let i=s.exact?"exactly ":s.inclusive?"<=":"<",a=e(s.origin);return a?`Too big: expected ${s.origin??"value"} to have ${i}${s.maximum.toString()} ${a.unit??"elements"}`:`Too big: expected ${s.origin??"value"} to be ${i}${s.maximum.toString()}`}case"too_small":{let i=s.exact?"exactly ":s.inclusive?">=":">",a=e(s.origin);return a?`Too small: expected ${s.origin} to have ${i}${s.minimum.toString()} ${a.unit}`:`Too small: expected ${s.origin} to be ${i}${s.minimum.toString()}`}case"invalid_format":{let i=s;return i.format==="starts_with"?`Invalid string: must start with "${i.prefix}"`:i.format==="ends_with"?`Invalid string: must end with "${i.suffix}"`:i.format==="includes"?`Invalid string: must include "${i.includes}"`:i.format==="regex"?`Invalid string: must match pattern ${i.pattern}`:`Invalid ${r[i.format]??s.format}`}case"not_multiple_of":return`Invalid number: must be a multiple of ${s.divisor}`;case"unrecognized_keys":return`Unrecognized key${s.keys.length>1?"s":""}: ${So(s.keys,", ")}`;case"invalid_key":return`Invalid key in ${s.origin}`;case"invalid_union":return s.options&&Array.isArray(s.options)&&s.options.length>0?`Invalid discriminator value. Expected ${s.options.map(a=>`'${a}'`).join(" | ")}`:s.inclusive===!1?"Invalid input: more than one option matched":"Invalid input";case"invalid_element":return`Invalid value in ${s.origin}`;default:return"Invalid input"}}};function jl(){return{localeError:Y_()}}var ql;var ni=class{constructor(){this._map=new WeakMap,this._idmap=new Map}add(e,...r){let o=r[0];return this._map.set(e,o),o&&typeof o=="object"&&"id"in o&&this._idmap.set(o.id,e),this}clear(){return this._map=new WeakMap,this._idmap=new Map,this}remove(e){let r=this._map.get(e);return r&&typeof r=="object"&&"id"in r&&this._idmap.delete(r.id),this._map.delete(e),this}get(e){let r=e._zod.parent;if(r){let o={...this.get(r)??{}};delete o.id;let n={...o,...this._map.get(e)};return Object.keys(n).length?n:void 0}return this._map.get(e)}has(e){return this._map.has(e)}};function J_(){return new ni}(ql=globalThis).__zod_globalRegistry??(ql.__zod_globalRegistry=J_());var St=globalThis.__zod_globalRegistry;function Ko(t){return t.checks&&(t.checks=[...t.checks]),t}function Fl(t,e){return new t(Ko({type:"string",...k(e)}))}function Hl(t,e){return new t(Ko({type:"string",coerce:!0,...k(e)}))}function Kl(t,e){return new t({type:"string",format:"email",check:"string_format",abort:!1,...k(e)})}function Gl(t,e){return new t({type:"string",format:"guid",check:"string_format",abort:!1,...k(e)})}function Wl(t,e){return new t({type:"string",format:"uuid",check:"string_format",abort:!1,...k(e)})}function Vl(t,e){return new t({type:"string",format:"uuid",check:"string_format",abort:!1,version:"v4",...k(e)})}function Yl(t,e){return new t({type:"string",format:"uuid",check:"string_format",abort:!1,version:"v6",...k(e)})}function Jl(t,e){return new t({type:"string",format:"uuid",check:"string_format",abort:!1,version:"v7",...k(e)})}function Xl(t,e){return new t({type:"string",format:"url",check:"string_format",abort:!1,...k(e)})}function Ql(t,e){return new t({type:"string",format:"emoji",check:"string_format",abort:!1,...k(e)})}function ef(t,e){return new t({type:"string",format:"nanoid",check:"string_format",abort:!1,...k(e)})}function tf(t,e){return new t({type:"string",format:"cuid",check:"string_format",abort:!1,...k(e)})}function rf(t,e){return new t({type:"string",format:"cuid2",check:"string_format",abort:!1,...k(e)})}function of(t,e){return new t({type:"string",format:"ulid",check:"string_format",abort:!1,...k(e)})}function nf(t,e){return new t({type:"string",format:"xid",check:"string_format",abort:!1,...k(e)})}function sf(t,e){return new t({type:"string",format:"ksuid",check:"string_format",abort:!1,...k(e)})}function af(t,e){return new t({type:"string",format:"ipv4",check:"string_format",abort:!1,...k(e)})}function uf(t,e){return new t({type:"string",format:"ipv6",check:"string_format",abort:!1,...k(e)})}function cf(t,e){return new t({type:"string",format:"cidrv4",check:"string_format",abort:!1,...k(e)})}function lf(t,e){return new t({type:"string",format:"cidrv6",check:"string_format",abort:!1,...k(e)})}function ff(t,e){return new t({type:"string",format:"base64",check:"string_format",abort:!1,...k(e)})}function df(t,e){return new t({type:"string",format:"base64url",check:"string_format",abort:!1,...k(e)})}function pf(t,e){return new t({type:"string",format:"e164",check:"string_format",abort:!1,...k(e)})}function mf(t,e){return new t({type:"string",format:"jwt",check:"string_format",abort:!1,...k(e)})}function hf(t,e){return new t({type:"string",format:"datetime",check:"string_format",offset:!1,local:!1,precision:null,...k(e)})}function gf(t,e){return new t({type:"string",format:"date",check:"string_format",...k(e)})}function wf(t,e){return new t({type:"string",format:"time",check:"string_format",precision:null,...k(e)})}function _f(t,e){return new t({type:"string",format:"duration",check:"string_format",...k(e)})}function xf(t,e){return new t(Ko({type:"number",checks:[],...k(e)}))}function yf(t,e){return new t(Ko({type:"number",coerce:!0,checks:[],...k(e)}))}function bf(t,e){return new t({type:"number",check:"number_format",abort:!1,format:"safeint",...k(e)})}function vf(t,e){return new t({type:"boolean",...k(e)})}function Sf(t,e){return new t({type:"boolean",coerce:!0,...k(e)})}function kf(t,e){return new t({type:"bigint",coerce:!0,...k(e)})}function Ef(t){return new t({type:"unknown"})}function Af(t,e){return new t({type:"never",...k(e)})}function Tf(t,e){return new t({type:"date",coerce:!0,...k(e)})}function Yt(t,e){return new Ws({check:"less_than",...k(e),value:t,inclusive:!1})}function Qe(t,e){return new Ws({check:"less_than",...k(e),value:t,inclusive:!0})}function Jt(t,e){return new Vs({check:"greater_than",...k(e),value:t,inclusive:!1})}function et(t,e){return new Vs({check:"greater_than",...k(e),value:t,inclusive:!0})}function Lr(t,e){return new fc({check:"multiple_of",...k(e),value:t})}function Go(t,e){return new pc({check:"max_length",...k(e),maximum:t})}function Xt(t,e){return new mc({check:"min_length",...k(e),minimum:t})}function Wo(t,e){return new hc({check:"length_equals",...k(e),length:t})}function si(t,e){return new gc({check:"string_format",format:"regex",...k(e),pattern:t})}function ii(t){return new wc({check:"string_format",format:"lowercase",...k(t)})}function ai(t){return new _c({check:"string_format",format:"uppercase",...k(t)})}function ui(t,e){return new xc({check:"string_format",format:"includes",...k(e),includes:t})}function ci(t,e){return new yc({check:"string_format",format:"starts_with",...k(e),prefix:t})}function li(t,e){return new bc({check:"string_format",format:"ends_with",...k(e),suffix:t})}function ft(t){return new vc({check:"overwrite",tx:t})}function fi(t){return ft(e=>e.normalize(t))}function di(){return ft(t=>t.trim())}function pi(){return ft(t=>t.toLowerCase())}function mi(){return ft(t=>t.toUpperCase())}function hi(){return ft(t=>Rs(t))}function zf(t,e,r){return new t({type:"array",element:e,...k(r)})}function $f(t,e,r){return new t({type:"custom",check:"custom",fn:e,...k(r)})}function Of(t,e){let r=X_(o=>(o.addIssue=n=>{if(typeof n=="string")o.issues.push(Wt(n,o.value,r._zod.def));else{let s=n;s.fatal&&(s.continue=!1),s.code??(s.code="custom"),"input"in s||(s.input=o.value),s.inst??(s.inst=r),s.continue??(s.continue=!r._zod.def.abort),o.issues.push(Wt(s))}},t(o.value,o)),e);return r}function X_(t,e){let r=new ne({check:"custom",...k(e)});return r._zod.check=t,r}function Cr(t,...e){for(let r of e)for(let o of Reflect.ownKeys(r))Object.prototype.propertyIsEnumerable.call(r,o)&&ke(t,o,r[o]);return t}function wi(t){let e=t?.target??"draft-2020-12";return e==="draft-4"&&(e="draft-04"),e==="draft-7"&&(e="draft-07"),{processors:t.processors??{},metadataRegistry:t?.metadata??St,target:e,unrepresentable:t?.unrepresentable??"throw",override:t?.override??(()=>{}),io:t?.io??"output",counter:0,seen:new Map,sharedDefsExtractedFor:void 0,sharedEmitDoneFor:void 0,cycles:t?.cycles??"ref",reused:t?.reused??"inline",intersections:[],deferred:[],external:t?.external??void 0}}function Le(t,e,r,o,n){let s=typeof e.unrepresentable=="function"?e.unrepresentable({zodSchema:t,path:o.path,message:n}):e.unrepresentable;if(s==="any")return!1;if(s===void 0||s==="throw")throw new Error(n);return Object.assign(r,s),!0}function G(t,e,r={path:[],schemaPath:[]}){var o;let n=t._zod.def,s=e.seen.get(t);if(s)return s.count++,r.schemaPath.includes(t)&&(s.cycle=r.path),s.schema;let i={schema:{},count:1,cycle:void 0,path:r.path};e.seen.set(t,i),e.sharedDefsExtractedFor=void 0,e.sharedEmitDoneFor=void 0;let a=t._zod.toJSONSchema?.();if(a)i.schema=a;else{let l={...r,schemaPath:[...r.schemaPath,t],path:r.path};if(t._zod.processJSONSchema)t._zod.processJSONSchema(e,i.schema,l);else{let d=i.schema,p=e.processors[n.type];if(!p)throw new Error(`[toJSONSchema]: Non-representable type encountered: ${n.type}`);p(t,e,d,l)}let f=t._zod.parent;f&&(i.ref||(i.ref=f),G(f,e,l),e.seen.get(f).isParent=!0)}let u=e.metadataRegistry.get(t);return u&&Cr(i.schema,u),e.io==="input"&&me(t)&&(delete i.schema.examples,delete i.schema.default),e.io==="input"&&"_prefault"in i.schema&&((o=i.schema).default??(o.default=i.schema._prefault)),delete i.schema._prefault,e.seen.get(t).schema}function Pf(t){return t.replace(/~/g,"~0").replace(/\//g,"~1")}function _i(t,e){let r=t.seen.get(e);if(!r)throw new Error("Unprocessed schema. This is a bug in Zod.");if(t.external&&t.sharedDefsExtractedFor===t.external)return;let o=new Map;for(let i of t.seen.entries()){let a=t.metadataRegistry.get(i[0])?.id;if(a){let u=o.get(a);if(u&&u!==i[0])throw new Error(`Duplicate schema id "${a}" detected during JSON Schema conversion. Two different schemas cannot share the same id when converted together.`);o.set(a,i[0])}}let n=i=>{let a=t.target==="draft-2020-12"?"$defs":"definitions";if(t.external){let f=t.external.registry.get(i[0])?.id,d=t.external.uri??(m=>m);if(f)return{ref:d(f)};let p=i[1].defId??i[1].schema.id??`schema${t.counter++}`;return i[1].defId=p,{defId:p,ref:`${d("__shared")}#/${a}/${Pf(p)}`}}let u="#",c=`${u}/${a}/`;if(i[1]===r&&!i[1].schema.id)return{ref:u};let l=i[1].schema.id??`__schema${t.counter++}`;return{defId:l,ref:c+Pf(l)}},s=i=>{if(i[1].schema.$ref)return;let a=i[1],{ref:u,defId:c}=n(i);a.def={...a.schema},c&&(a.defId=c);let l=a.schema;for(let f in l)delete l[f];l.$ref=u};if(t.cycles==="throw")for(let i of t.seen.entries()){let a=i[1];if(a.cycle)throw new Error(`Cycle detected: #/${a.cycle?.join("/")}/<root>

Set the \`cycles\` parameter to \`"ref"\` to resolve cyclical schemas with defs.`)}for(let i of t.seen.entries()){let a=i[1];if(e===i[0]){s(i);continue}if(t.external){let c=t.external.registry.get(i[0])?.id;if(e!==i[0]&&c){s(i);continue}}if(t.metadataRegistry.get(i[0])?.id){s(i);continue}if(a.cycle){s(i);continue}a.count>1&&t.reused==="ref"&&s(i)}t.external&&(t.sharedDefsExtractedFor=t.external)}function If(t){let e=t.anyOf;if(!Array.isArray(e)||e.length===0||t.type!==void 0)return;let r=[];for(let o of e){if(!o||typeof o!="object")return;If(o);let n=Object.keys(o);if(n.length!==1||n[0]!=="type")return;let s=o.type;for(let i of Array.isArray(s)?s:[s]){if(typeof i!="string")return;r.includes(i)||r.push(i)}}delete t.anyOf,t.type=r.length===1?r[0]:r}var Nf=new Set(["type","properties","required","additionalProperties"]),Rf=["oneOf","anyOf"];function Mf(t){let e=t.additionalProperties;return e===void 0||e===!1||typeof e!="object"||e===null?null:Object.keys(e).length?e:null}function gi(t){let e=[];for(let s of t){if(typeof s!="object"||s.type!=="object")return null;for(let i in s)if(!Nf.has(i))return null;e.push(s)}let r={},o=new Set;for(let s of e){for(let i in s.properties){if(Object.prototype.hasOwnProperty.call(r,i))continue;let a=[];for(let c of e){let l=c.properties?.[i]??Mf(c);l!=null&&(a.some(f=>JSON.stringify(f)===JSON.stringify(l))||a.push(l))}let u=a.length===1?a[0]:gi(a)??{allOf:a};ke(r,i,u)}for(let i of s.required??[])o.add(i)}let n={type:"object",properties:r};if(o.size&&(n.required=[...o]),e.every(s=>s.additionalProperties===!1))n.additionalProperties=!1;else{let s=[];for(let i of e){let a=Mf(i);a&&!s.some(u=>JSON.stringify(u)===JSON.stringify(a))&&s.push(a)}s.length===1?n.additionalProperties=s[0]:s.length>1&&(n.additionalProperties={allOf:s})}return n}function Q_(t){let e=t.allOf;if(!Array.isArray(e)||e.length<2)return;for(let n of Nf)if(n in t)return;let r=e.filter(n=>Rf.some(s=>Array.isArray(n[s]))),o=null;if(!r.length)o=gi(e);else{let n=r[0],s=Rf.find(u=>Array.isArray(n[u]));if(Object.keys(n).length!==1)return;let i=e.filter(u=>u!==n),a=n[s].map(u=>gi([...i,u]));if(a.some(u=>!u))return;o={[s]:a}}o&&(delete t.allOf,Cr(t,o))}function xi(t,e){let r=t.seen.get(e);if(!r)throw new Error("Unprocessed schema. This is a bug in Zod.");let o=a=>{let u=t.seen.get(a);if(u.ref===null)return;let c=u.def??u.schema,l={...c},f=u.ref;if(u.ref=null,f){o(f);let p=t.seen.get(f),m=p.schema;if(m.$ref&&(t.target==="draft-07"||t.target==="draft-04"||t.target==="openapi-3.0")?(c.allOf=c.allOf??[],c.allOf.push(m)):Cr(c,m),Cr(c,l),a._zod.parent===f)for(let g in c)g==="$ref"||g==="allOf"||g in l||delete c[g];if(m.$ref&&p.def)for(let g in c)g==="$ref"||g==="allOf"||g in p.def&&JSON.stringify(c[g])===JSON.stringify(p.def[g])&&delete c[g]}let d=a._zod.parent;if(d&&d!==f){o(d);let p=t.seen.get(d);if(p?.schema.$ref&&(c.$ref=p.schema.$ref,p.def))for(let m in c)m==="$ref"||m==="allOf"||m in p.def&&JSON.stringify(c[m])===JSON.stringify(p.def[m])&&delete c[m]}t.override({zodSchema:a,jsonSchema:c,path:u.path??[]})};if(!t.external||t.sharedEmitDoneFor!==t.external){for(let a of[...t.seen.entries()].reverse())o(a[0]);if(t.target!=="openapi-3.0")for(let a of t.seen.entries())If(a[1].def??a[1].schema);for(let a of t.deferred)a();if(t.intersections.length){let a=new Map;for(let u of t.seen.values())for(let c of[u.schema,u.def]){let l=c?.allOf;if(!Array.isArray(l))continue;let f=a.get(l);f?f.push(c):a.set(l,[c])}for(let u of t.intersections)for(let c of a.get(u)??[])Q_(c)}}let n={};if(t.target==="draft-2020-12"?n.$schema="https://json-schema.org/draft/2020-12/schema":t.target==="draft-07"?n.$schema="http://json-schema.org/draft-07/schema#":t.target==="draft-04"?n.$schema="http://json-schema.org/draft-04/schema#":t.target,t.external?.uri){let a=t.external.registry.get(e)?.id;if(!a)throw new Error("Schema is missing an `id` property");n.$id=t.external.uri(a)}Cr(n,r.defId?r.schema:r.def??r.schema);let s=t.metadataRegistry.get(e)?.id;s!==void 0&&n.id===s&&delete n.id;let i=t.external?.defs??{};if(!t.external||t.sharedEmitDoneFor!==t.external)for(let a of t.seen.entries()){let u=a[1];u.def&&u.defId&&(u.def.id===u.defId&&delete u.def.id,ke(i,u.defId,u.def))}t.external&&(t.sharedEmitDoneFor=t.external),t.external||Object.keys(i).length>0&&(t.target==="draft-2020-12"?n.$defs=i:n.definitions=i);try{let a=JSON.parse(JSON.stringify(n));return Object.defineProperty(a,"~standard",{value:{...e["~standard"],jsonSchema:{input:Dr(e,"input",t.processors),output:Dr(e,"output",t.processors)}},enumerable:!1,writable:!1}),a}catch{throw new Error("Error converting schema to JSON.")}}function me(t,e){let r=e??{seen:new Set};if(r.seen.has(t))return!1;r.seen.add(t);let o=t._zod.def;if(o.type==="transform")return!0;if(o.type==="array")return me(o.element,r);if(o.type==="set")return me(o.valueType,r);if(o.type==="lazy")return me(o.getter(),r);if(o.type==="promise"||o.type==="optional"||o.type==="nonoptional"||o.type==="nullable"||o.type==="readonly"||o.type==="default"||o.type==="prefault"||o.type==="catch")return me(o.innerType,r);if(o.type==="intersection")return me(o.left,r)||me(o.right,r);if(o.type==="record"||o.type==="map")return me(o.keyType,r)||me(o.valueType,r);if(o.type==="pipe")return t._zod.traits.has("$ZodCodec")?!0:me(o.in,r)||me(o.out,r);if(o.type==="object"){for(let n in o.shape)if(me(o.shape[n],r))return!0;return!1}if(o.type==="union"){for(let n of o.options)if(me(n,r))return!0;return!1}if(o.type==="tuple"){for(let n of o.items)if(me(n,r))return!0;return!!(o.rest&&me(o.rest,r))}return!1}var Lf=(t,e={})=>r=>{let o=wi({...r,processors:e});return G(t,o),_i(o,t),xi(o,t)},Dr=(t,e,r={})=>o=>{let{libraryOptions:n,target:s}=o??{},i=wi({...n??{},target:s,io:e,processors:r});return G(t,i),_i(i,t),xi(i,t)};var Qt=(t,e,r)=>{(t[e]===void 0||r>t[e])&&(t[e]=r)},er=(t,e,r)=>{(t[e]===void 0||r<t[e])&&(t[e]=r)},Cf=(t,e)=>{Qt(t,"minimum",e),er(t,"maximum",e)},Zf=(t,e)=>{t.multipleOf??(t.multipleOf=[]),t.multipleOf.includes(e)||t.multipleOf.push(e)},jf=(t,e)=>{t.patterns??(t.patterns=new Set),t.patterns.add(e)},qf=(t,e)=>{t.mime=t.mime?t.mime.filter(r=>e.includes(r)):[...e]},Ff=(t,e)=>{t.format=e,e.includes("int")&&(t.isInt=!0)},Df=(t,e)=>Qt(t,"minimum",e.minimum),Bf=(t,e)=>er(t,"maximum",e.maximum),Uf=t=>(e,r)=>{Ff(e,r.format);let[o,n]=t[r.format];Qt(e,"minimum",o),er(e,"maximum",n)},ex={greater_than:(t,e)=>Qt(t,e.inclusive?"minimum":"exclusiveMinimum",e.value),less_than:(t,e)=>er(t,e.inclusive?"maximum":"exclusiveMaximum",e.value),multiple_of:(t,e)=>Zf(t,e.value),number_format:Uf(Tr),bigint_format:Uf(Ao),min_length:Df,max_length:Bf,length_equals:(t,e)=>Cf(t,e.length),min_size:Df,max_size:Bf,size_equals:(t,e)=>Cf(t,e.size),string_format:(t,e)=>{Ff(t,e.format),e.pattern&&jf(t,e.pattern),(e.format==="base64"||e.format==="base64url")&&(t.contentEncoding=e.format),(e.local||e.precision===-1)&&(t.laxFormat=!0)},mime_type:(t,e)=>qf(t,e.mime)};function Q(t){let e={},r=t._zod.def,o=t._zod.traits.has("$ZodCheck")?[t,...r.checks??[]]:r.checks??[];for(let s of o)ex[s._zod.def.check]?.(e,s._zod.def);let n=t._zod.bag;n.minimum!==void 0&&Qt(e,"minimum",n.minimum),n.exclusiveMinimum!==void 0&&Qt(e,"exclusiveMinimum",n.exclusiveMinimum),n.maximum!==void 0&&er(e,"maximum",n.maximum),n.exclusiveMaximum!==void 0&&er(e,"exclusiveMaximum",n.exclusiveMaximum),n.multipleOf!==void 0&&Zf(e,n.multipleOf),n.format!==void 0&&(e.format??(e.format=n.format),n.format.includes("int")&&(e.isInt=!0)),n.mime&&qf(e,n.mime);for(let s of n.patterns??[])jf(e,s);return e}var tx={guid:"uuid",url:"uri",datetime:"date-time",json_string:"json-string",regex:""},rx=new Map([[Xs,Xu],[Zo,Qu]]),Hf=t=>rx.get(t)??t,Kf=(t,e,r,o)=>{let n=r;n.type="string";let{minimum:s,maximum:i,format:a,patterns:u,contentEncoding:c,laxFormat:l}=Q(t);if(typeof s=="number"&&(n.minLength=s),typeof i=="number"&&(n.maxLength=i),a&&(n.format=tx[a]??a,n.format===""&&delete n.format,(a==="time"||l)&&delete n.format),c&&(n.contentEncoding=c),u&&u.size>0){let f=[...u].map(Hf);f.length===1?n.pattern=f[0].source:f.length>1&&(n.allOf=[...f.map(d=>({...e.target==="draft-07"||e.target==="draft-04"||e.target==="openapi-3.0"?{type:"string"}:{},pattern:d.source}))])}},Gf=(t,e,r,o)=>{let n=r,{minimum:s,maximum:i,multipleOf:a,exclusiveMaximum:u,exclusiveMinimum:c,isInt:l}=Q(t);n.type=l?"integer":"number";let f=typeof c=="number"&&c>=(s??Number.NEGATIVE_INFINITY),d=typeof u=="number"&&u<=(i??Number.POSITIVE_INFINITY),p=e.target==="draft-04"||e.target==="openapi-3.0";if(f?p?(n.minimum=c,n.exclusiveMinimum=!0):n.exclusiveMinimum=c:typeof s=="number"&&(n.minimum=s),d?p?(n.maximum=u,n.exclusiveMaximum=!0):n.exclusiveMaximum=u:typeof i=="number"&&(n.maximum=i),a){let m=new Set;for(let _ of a)Number.isFinite(_)&&_!==0?m.add(Math.abs(_)):Le(t,e,n,o,`A multipleOf divisor of ${_} cannot be represented in JSON Schema`);let[h,...g]=m;h!==void 0&&(n.multipleOf=h),g.length&&(n.allOf=[...n.allOf??[],...g.map(_=>({multipleOf:_}))])}},Wf=(t,e,r,o)=>{r.type="boolean"},Vf=(t,e,r,o)=>{Le(t,e,r,o,"BigInt cannot be represented in JSON Schema")};var Yf=(t,e,r,o)=>{r.not={}};var Jf=(t,e,r,o)=>{},Xf=(t,e,r,o)=>{Le(t,e,r,o,"Date cannot be represented in JSON Schema")},Qf=(t,e,r,o)=>{let n=t._zod.def,s=Kt(n.entries);if(s.length===0){r.not={};return}s.every(i=>typeof i=="number")&&(r.type="number"),s.every(i=>typeof i=="string")&&(r.type="string"),r.enum=s},ed=(t,e,r,o)=>{let n=t._zod.def;if(n.values.length===0){r.not={};return}let s=[];for(let i of n.values)if(i===void 0){if(Le(t,e,r,o,"Literal `undefined` cannot be represented in JSON Schema"))return}else if(typeof i=="bigint"){if(Le(t,e,r,o,"BigInt literals cannot be represented in JSON Schema"))return;s.push(Number(i))}else s.push(i);if(s.length!==0)if(s.length===1){let i=s[0];r.type=i===null?"null":typeof i,e.target==="draft-04"||e.target==="openapi-3.0"?r.enum=[i]:r.const=i}else s.every(i=>typeof i=="number")&&(r.type="number"),s.every(i=>typeof i=="string")&&(r.type="string"),s.every(i=>typeof i=="boolean")&&(r.type="boolean"),s.every(i=>i===null)&&(r.type="null"),r.enum=s};var td=(t,e,r,o)=>{Le(t,e,r,o,"Custom types cannot be represented in JSON Schema")};var rd=(t,e,r,o)=>{Le(t,e,r,o,"Transforms cannot be represented in JSON Schema")};var od=(t,e,r,o)=>{let n=r,s=t._zod.def,{minimum:i,maximum:a}=Q(t);typeof i=="number"&&(n.minItems=i),typeof a=="number"&&(n.maxItems=a),n.type="array",n.items=G(s.element,e,{...o,path:[...o.path,"items"]})};function Br(t){let e=t._zod.def;return e.type==="pipe"&&e.in._zod.traits.has("$ZodTransform")?Br(e.out):e.type==="catch"?Br(e.innerType):t._zod.optin}var nd=(t,e,r,o)=>{let n=r,s=t._zod.def,i=s.shape;if(Object.getOwnPropertySymbols(i).length&&Le(t,e,n,o,"Symbol keys cannot be represented in JSON Schema"))return;n.type="object",n.properties={};for(let c in i)ke(n.properties,c,G(i[c],e,{...o,path:[...o.path,"properties",c]}));let u=[];for(let c of Object.keys(i)){let l=s.shape[c];(e.io==="input"?Br(l)===void 0:l._zod.optout===void 0)&&u.push(c)}u.length>0&&(n.required=u),s.catchall?._zod.def.type==="never"?n.additionalProperties=!1:s.catchall?s.catchall&&(n.additionalProperties=G(s.catchall,e,{...o,path:[...o.path,"additionalProperties"]})):e.io==="output"&&(n.additionalProperties=!1)},sd=(t,e,r,o)=>{let n=t._zod.def,s=n.inclusive===!1,i=n.options.map((a,u)=>G(a,e,{...o,path:[...o.path,s?"oneOf":"anyOf",u]}));s?r.oneOf=i:r.anyOf=i},id=(t,e,r,o)=>{let n=t._zod.def,s=G(n.left,e,{...o,path:[...o.path,"allOf",0]}),i=G(n.right,e,{...o,path:[...o.path,"allOf",1]}),a=c=>"allOf"in c&&Object.keys(c).length===1,u=[...a(s)?s.allOf:[s],...a(i)?i.allOf:[i]];r.allOf=u,e.intersections.push(u)},ad=(t,e,r,o)=>{let n=r,s=t._zod.def;n.type="array";let i=e.target==="draft-2020-12"?"prefixItems":"items",a=e.target==="draft-2020-12"||e.target==="openapi-3.0"?"items":"additionalItems",u=s.items.map((h,g)=>G(h,e,{...o,path:[...o.path,i,g]})),c=s.rest?G(s.rest,e,{...o,path:[...o.path,a,...e.target==="openapi-3.0"?[s.items.length]:[]]}):null,l=s.items.length;for(;l>0;){let h=s.items[l-1];if(!(e.io==="input"?Br(h)!==void 0:h._zod.optout==="optional"))break;l--}let f=s.items.length,d=!s.rest;e.target==="draft-2020-12"?(n.prefixItems=u,d?n.items=!1:c&&(n.items=c),l>0&&(n.minItems=l),d&&(n.maxItems=f)):e.target==="openapi-3.0"?(n.items={anyOf:u},c&&n.items.anyOf.push(c),l>0&&(n.minItems=l),d&&(n.maxItems=f)):(n.items=u,d?n.additionalItems=!1:c&&(n.additionalItems=c),l>0&&(n.minItems=l),d&&(n.maxItems=f));let{minimum:p,maximum:m}=Q(t);typeof p=="number"&&(n.minItems=p),typeof m=="number"&&(n.maxItems=m)};function yi(t,e,r){if(e.$ref){if(r.has(e))return e;r.add(e);let m=t.get(e)?.def;if(!m)return e;let h=yi(t,m,r);return h===m?e:h}for(let m of["anyOf","oneOf"]){let h=e[m];if(!Array.isArray(h))continue;let g=h.map(_=>yi(t,_,r));g.some((_,x)=>_!==h[x])&&(e={...e,[m]:g})}let o=Array.isArray(e.type)?e.type:[e.type],n=!o.includes("string")&&o.some(m=>m==="number"||m==="integer"),s=e.enum??(e.const!==void 0?[e.const]:void 0);if(!n&&!s?.some(m=>typeof m=="number"))return e;let{minimum:i,maximum:a,exclusiveMinimum:u,exclusiveMaximum:c,multipleOf:l,format:f,id:d,...p}=e;return p.enum?p.enum=p.enum.map(m=>typeof m=="number"?String(m):m):typeof p.const=="number"&&(p.const=String(p.const)),n&&(p.type="string",s||(p.pattern=(o.includes("number")?Pr:Ks).source)),p}var bi=new WeakMap;function ox(t){let e=new Map;for(let o of t.seen.values())o.def&&!e.has(o.schema)&&e.set(o.schema,o);let r=new Map;for(let o of bi.get(t)??[]){let n=t.seen.get(o),s=(n?.def??n?.schema)?.propertyNames;if(!s||s===!0||r.has(s))continue;let i=yi(e,s,new Set);i!==s&&r.set(s,i)}if(r.size)for(let o of t.seen.values())for(let n of[o.schema,o.def]){let s=n&&r.get(n.propertyNames);s&&(n.propertyNames=s)}}var ud=(t,e,r,o)=>{let n=r,s=t._zod.def;n.type="object";let i=s.keyType,a=Q(i).patterns;if(s.mode==="loose"&&a&&a.size>0){let l=G(s.valueType,e,{...o,path:[...o.path,"patternProperties","*"]});n.patternProperties={};for(let f of a)ke(n.patternProperties,Hf(f).source,l)}else{if(e.target==="draft-07"||e.target==="draft-2020-12"){n.propertyNames=G(s.keyType,e,{...o,path:[...o.path,"propertyNames"]});let l=bi.get(e);l||(l=[],bi.set(e,l),e.deferred.push(()=>ox(e))),l.push(t)}n.additionalProperties=G(s.valueType,e,{...o,path:[...o.path,"additionalProperties"]})}let u=i._zod.values,c=e.io==="input"&&Br(s.valueType)!==void 0;if(u&&!s.partial&&!c){let l=[...u].filter(f=>typeof f=="string"||typeof f=="number");l.length>0&&(n.required=l.map(String))}},cd=(t,e,r,o)=>{let n=t._zod.def,s=G(n.innerType,e,o),i=e.seen.get(t);e.target==="openapi-3.0"?(i.ref=n.innerType,r.nullable=!0):r.anyOf=[s,{type:"null"}]},ld=(t,e,r,o)=>{let n=t._zod.def;G(n.innerType,e,o);let s=e.seen.get(t);s.ref=n.innerType},vi=Symbol();function fd(t,e,r,o,n){let s=!1,i=JSON.stringify(t,(a,u)=>typeof u!="bigint"?u:(s=!0,null));return s?(Le(e,r,o,n,"BigInt defaults cannot be represented in JSON Schema"),vi):JSON.parse(i)}var dd=(t,e,r,o)=>{let n=t._zod.def;G(n.innerType,e,o);let s=e.seen.get(t);s.ref=n.innerType;let i=fd(n.defaultValue,t,e,r,o);i!==vi&&(r.default=i)},pd=(t,e,r,o)=>{let n=t._zod.def;G(n.innerType,e,o);let s=e.seen.get(t);if(s.ref=n.innerType,e.io!=="input")return;let i=fd(n.defaultValue,t,e,r,o);i!==vi&&(r._prefault=i)},md=(t,e,r,o)=>{let n=t._zod.def;G(n.innerType,e,o);let s=e.seen.get(t);s.ref=n.innerType;let i;try{i=n.catchValue(void 0)}catch{Le(t,e,r,o,"Dynamic catch values are not supported in JSON Schema");return}r.default=i},hd=(t,e,r,o)=>{let n=t._zod.def,s=n.in._zod.traits.has("$ZodTransform"),i=e.io==="input"?s?n.out:n.in:n.out;G(i,e,o);let a=e.seen.get(t);a.ref=i},gd=(t,e,r,o)=>{let n=t._zod.def;G(n.innerType,e,o);let s=e.seen.get(t);s.ref=n.innerType,r.readOnly=!0};var Si=(t,e,r,o)=>{let n=t._zod.def;G(n.innerType,e,o);let s=e.seen.get(t);s.ref=n.innerType};var wd=new WeakSet([Object.prototype,Error.prototype]);function Vo(t,e,r){Object.defineProperty(t,e,{configurable:!0,enumerable:!1,get(){let o=r(this);return Object.defineProperty(this,e,{value:o,configurable:!0,writable:!0}),o},set(o){Object.defineProperty(this,e,{value:o,configurable:!0,writable:!0})}})}var _d=(t,e)=>{Eu.init(t,e),t.name="ZodError";let r=Object.getPrototypeOf(t);wd.has(r)||(wd.add(r),Vo(r,"format",o=>n=>Tu(o,n)),Vo(r,"flatten",o=>n=>Au(o,n)),Vo(r,"addIssue",o=>n=>{o.issues.push(n),o.message=JSON.stringify(o.issues,Gt,2)}),Vo(r,"addIssues",o=>n=>{o.issues.push(...n),o.message=JSON.stringify(o.issues,Gt,2)}),Object.defineProperty(r,"isEmpty",{configurable:!0,enumerable:!1,get(){return this.issues.length===0}}))},Yo=w("ZodError",_d),we=w("ZodError",_d,void 0,{Parent:Error});var xd=Po(we),yd=Ro(we),bd=Mo(we),vd=Io(we),Sd=$u(we),kd=Ou(we),Ed=Pu(we),Ad=Ru(we),Td=Mu(we),zd=Iu(we),$d=Nu(we),Od=Lu(we);function px(){pe.localeError||ge(jl())}function Zr(){pe.memoizer||ge({memoizer:Zl()})}var j=w("ZodType",(t,e)=>(px(),U.init(t,e),t.def=e,t.type=e.type,t),{check(...t){let e=this.def;return this.clone(E.mergeDefs(e,{checks:[...e.checks??[],...t.map(r=>typeof r=="function"?{_zod:{check:r,def:{check:"custom"},onattach:[]}}:r)]}),{parent:!0})},with(...t){return this.check(...t)},clone(t,e){return Re(this,t,e)},brand(){return this},register(t,e){return t.add(this,e),this},refine(t,e){return this.check(ty(t,e))},superRefine(t,e){return this.check(ry(t,e))},overwrite(t){return this.check(ft(t))},optional(){return Rd(this)},exactOptional(){return Hx(this)},nullable(){return Md(this)},nullish(){return Rd(Md(this))},nonoptional(t){return Wx(this,t)},array(){return V(this)},or(t){return zi([this,t])},and(t){return Zx(this,t)},transform(t){return Id(this,Fx(t))},default(t){return Kx(this,t)},prefault(t){return Gx(this,t)},catch(t){return Yx(this,t)},pipe(t){return Id(this,t)},readonly(){return Qx(this)},describe(t){let e=this.clone();return St.add(e,{description:t}),e},meta(...t){if(t.length===0)return St.get(this);let e=this.clone();return St.add(e,t[0]),e},isOptional(){return this.safeParse(void 0).success},isNullable(){return this.safeParse(null).success},apply(t,...e){return e.length===0?t(this):t(this,...e)},get"~standard"(){return E.hide(this,"~standard",{...Js(this),jsonSchema:{input:Dr(this,"input"),output:Dr(this,"output")}})},set"~standard"(t){E.own(this,"~standard",t)},parse:function t(e,r){return xd(this,e,r,{callee:t})},parseAsync:async function t(e,r){return await yd(this,e,r,{callee:t})},safeParse(t,e){return bd(this,t,e)},async safeParseAsync(t,e){return vd(this,t,e)},get spa(){return this?.safeParseAsync},set spa(t){E.own(this,"spa",t)},validate(t,e){return js(this,t,e)},validateAsync(t,e){return qs(this,t,e)},encode:function t(e,r){return Sd(this,e,r,{callee:t})},decode:function t(e,r){return kd(this,e,r,{callee:t})},encodeAsync:async function t(e,r){return await Ed(this,e,r,{callee:t})},decodeAsync:async function t(e,r){return await Ad(this,e,r,{callee:t})},safeEncode(t,e){return Td(this,t,e)},safeDecode(t,e){return zd(this,t,e)},async safeEncodeAsync(t,e){return $d(this,t,e)},async safeDecodeAsync(t,e){return Od(this,t,e)},toJSONSchema(t){return Lf(this,{})(t)},get description(){return St.get(this)?.description},get _def(){return this._zod.def}}),Nd=w("_ZodString",(t,e)=>{Uo.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Kf(t,r,o,n)},E.derived({format:t=>Q(t).format??null,minLength:t=>Q(t).minimum??null,maxLength:t=>Q(t).maximum??null},{regex(...t){return this.check(si(...t))},includes(...t){return this.check(ui(...t))},startsWith(...t){return this.check(ci(...t))},endsWith(...t){return this.check(li(...t))},min(...t){return this.check(Xt(...t))},max(...t){return this.check(Go(...t))},length(...t){return this.check(Wo(...t))},nonempty(...t){return this.check(Xt(1,...t))},lowercase(t){return this.check(ii(t))},uppercase(t){return this.check(ai(t))},trim(){return this.check(di())},normalize(...t){return this.check(fi(...t))},toLowerCase(){return this.check(pi())},toUpperCase(){return this.check(mi())},slugify(){return this.check(hi())}})),Ei=w("ZodString",(t,e)=>{Uo.init(t,e),Nd.init(t,e)},{email(t){return this.check(Kl(_x,t))},url(t){return this.check(Xl(yx,t))},jwt(t){return this.check(mf(Nx,t))},emoji(t){return this.check(Ql(bx,t))},guid(t){return this.check(Gl(xx,t))},uuid(t){return this.check(Wl(Jo,t))},uuidv4(t){return this.check(Vl(Jo,t))},uuidv6(t){return this.check(Yl(Jo,t))},uuidv7(t){return this.check(Jl(Jo,t))},nanoid(t){return this.check(ef(vx,t))},cuid(t){return this.check(tf(Sx,t))},cuid2(t){return this.check(rf(kx,t))},ulid(t){return this.check(of(Ex,t))},base64(t){return this.check(ff(Rx,t))},base64url(t){return this.check(df(Mx,t))},xid(t){return this.check(nf(Ax,t))},ksuid(t){return this.check(sf(Tx,t))},ipv4(t){return this.check(af(zx,t))},ipv6(t){return this.check(uf($x,t))},cidrv4(t){return this.check(cf(Ox,t))},cidrv6(t){return this.check(lf(Px,t))},e164(t){return this.check(pf(Ix,t))},datetime(t){return this.check(hf(mx,t))},date(t){return this.check(gf(hx,t))},time(t){return this.check(wf(gx,t))},duration(t){return this.check(_f(wx,t))}});function O(t){return Fl(Ei,t)}var W=w("ZodStringFormat",(t,e)=>{q.init(t,e),Nd.init(t,e)}),mx=w("ZodISODateTime",(t,e)=>{Xc.init(t,e),W.init(t,e)}),hx=w("ZodISODate",(t,e)=>{Qc.init(t,e),W.init(t,e)}),gx=w("ZodISOTime",(t,e)=>{el.init(t,e),W.init(t,e)}),wx=w("ZodISODuration",(t,e)=>{tl.init(t,e),W.init(t,e)}),_x=w("ZodEmail",(t,e)=>{Zc.init(t,e),W.init(t,e)});var xx=w("ZodGUID",(t,e)=>{Bc.init(t,e),W.init(t,e)});var Jo=w("ZodUUID",(t,e)=>{Uc.init(t,e),W.init(t,e)});var yx=w("ZodURL",(t,e)=>{Fc.init(t,e),W.init(t,e)});var bx=w("ZodEmoji",(t,e)=>{Hc.init(t,e),W.init(t,e)});var vx=w("ZodNanoID",(t,e)=>{Kc.init(t,e),W.init(t,e)});var Sx=w("ZodCUID",(t,e)=>{Gc.init(t,e),W.init(t,e)});var kx=w("ZodCUID2",(t,e)=>{Wc.init(t,e),W.init(t,e)});var Ex=w("ZodULID",(t,e)=>{Vc.init(t,e),W.init(t,e)});var Ax=w("ZodXID",(t,e)=>{Yc.init(t,e),W.init(t,e)});var Tx=w("ZodKSUID",(t,e)=>{Jc.init(t,e),W.init(t,e)});var zx=w("ZodIPv4",(t,e)=>{rl.init(t,e),W.init(t,e)});var $x=w("ZodIPv6",(t,e)=>{nl.init(t,e),W.init(t,e)});var Ox=w("ZodCIDRv4",(t,e)=>{sl.init(t,e),W.init(t,e)});var Px=w("ZodCIDRv6",(t,e)=>{il.init(t,e),W.init(t,e)});var Rx=w("ZodBase64",(t,e)=>{ul.init(t,e),W.init(t,e)});var Mx=w("ZodBase64URL",(t,e)=>{cl.init(t,e),W.init(t,e)});var Ix=w("ZodE164",(t,e)=>{ll.init(t,e),W.init(t,e)});var Nx=w("ZodJWT",(t,e)=>{fl.init(t,e),W.init(t,e)});var Qo=w("ZodNumber",(t,e)=>{Qs.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Gf(t,r,o,n),t.isFinite=!0},E.derived({minValue:t=>{let{minimum:e,exclusiveMinimum:r}=Q(t);return Math.max(e??Number.NEGATIVE_INFINITY,r??Number.NEGATIVE_INFINITY)},maxValue:t=>{let{maximum:e,exclusiveMaximum:r}=Q(t);return Math.min(e??Number.POSITIVE_INFINITY,r??Number.POSITIVE_INFINITY)},isInt:t=>{let{isInt:e,multipleOf:r}=Q(t);return!!e||!!r?.some(Number.isSafeInteger)},format:t=>Q(t).format??null},{gt(t,e){return this.check(Jt(t,e))},gte(t,e){return this.check(et(t,e))},min(t,e){return this.check(et(t,e))},lt(t,e){return this.check(Yt(t,e))},lte(t,e){return this.check(Qe(t,e))},max(t,e){return this.check(Qe(t,e))},int(t){return this.check(R(t))},safe(t){return this.check(R(t))},positive(t){return this.check(Jt(0,t))},nonnegative(t){return this.check(et(0,t))},negative(t){return this.check(Yt(0,t))},nonpositive(t){return this.check(Qe(0,t))},multipleOf(t,e){return this.check(Lr(t,e))},step(t,e){return this.check(Lr(t,e))},finite(){return this}}));function v(t){return xf(Qo,t)}var Lx=w("ZodNumberFormat",(t,e)=>{dl.init(t,e),Qo.init(t,e)});function R(t){return bf(Lx,t)}var Ai=w("ZodBoolean",(t,e)=>{pl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Wf(t,r,o,n)});function dt(t){return vf(Ai,t)}var Ld=w("ZodBigInt",(t,e)=>{ml.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Vf(t,r,o,n)},E.derived({minValue:t=>Q(t).minimum??null,maxValue:t=>Q(t).maximum??null,format:t=>Q(t).format??null},{gte(t,e){return this.check(et(t,e))},min(t,e){return this.check(et(t,e))},gt(t,e){return this.check(Jt(t,e))},lt(t,e){return this.check(Yt(t,e))},lte(t,e){return this.check(Qe(t,e))},max(t,e){return this.check(Qe(t,e))},positive(t){return this.check(Jt(BigInt(0),t))},negative(t){return this.check(Yt(BigInt(0),t))},nonpositive(t){return this.check(Qe(BigInt(0),t))},nonnegative(t){return this.check(et(BigInt(0),t))},multipleOf(t,e){return this.check(Lr(t,e))}}));var Cx=w("ZodUnknown",(t,e)=>{hl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Jf(t,r,o,n)});function Xo(){return Ef(Cx)}var Dx=w("ZodNever",(t,e)=>{gl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Yf(t,r,o,n)});function Cd(t){return Af(Dx,t)}var Dd=w("ZodDate",(t,e)=>{wl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Xf(t,r,o,n),t.min=(r,o)=>t.check(et(r,o)),t.max=(r,o)=>t.check(Qe(r,o))},E.derived({minDate:t=>{let{minimum:e}=Q(t);return e?new Date(e):null},maxDate:t=>{let{maximum:e}=Q(t);return e?new Date(e):null}},{}));var Bx=w("ZodArray",(t,e)=>{Zr(),_l.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>od(t,r,o,n),t.element=e.element},{min(t,e){return this.check(Xt(t,e))},nonempty(t){return this.check(Xt(1,t))},max(t,e){return this.check(Go(t,e))},length(t,e){return this.check(Wo(t,e))},unwrap(){return this.element}});function V(t,e){return zf(Bx,t,e)}var jr=w("ZodObject",(t,e)=>{Zr(),bl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>nd(t,r,o,n),E.installLazyProp(t,"shape",r=>r._zod.def.shape,!1)},{keyof(){return He(Object.keys(this._zod.def.shape))},catchall(t){return this.clone(E.mergeDefs(this._zod.def,{catchall:t}))},passthrough(){return this.clone(E.mergeDefs(this._zod.def,{catchall:Xo()}))},loose(){return this.clone(E.mergeDefs(this._zod.def,{catchall:Xo()}))},strict(){return this.clone(E.mergeDefs(this._zod.def,{catchall:Cd()}))},strip(){return this.clone(E.mergeDefs(this._zod.def,{catchall:void 0}))},extend(t){return E.extend(this,t)},safeExtend(t){return E.safeExtend(this,t)},merge(t){return E.merge(this,t)},pick(t){return E.pick(this,t)},omit(t){return E.omit(this,t)},partial(...t){return E.partial(Fr,this,t[0])},exactPartial(...t){return E.partial(Ud,this,t[0],"exactPartial")},required(...t){return E.required(Zd,this,t[0])}});function L(t,e){let r={type:"object",shape:t??{},...E.normalizeParams(e)};return new jr(r)}function kt(t,e){return new jr({type:"object",shape:t,catchall:Cd(),...E.normalizeParams(e)})}var Ti=w("ZodUnion",(t,e)=>{vl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>sd(t,r,o,n),t.options=e.options});function zi(t,e){return new Ti({type:"union",options:t,...E.normalizeParams(e)})}var Ux=w("ZodIntersection",(t,e)=>{Sl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>id(t,r,o,n)});function Zx(t,e){return new Ux({type:"intersection",left:t,right:e})}var jx=w("ZodTuple",(t,e)=>{Zr(),kl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>ad(t,r,o,n)},{rest(t){return this.clone({...this._zod.def,rest:t})},partial(){let t=this._zod.def;if(t.checks?.length)throw new Error(".partial() cannot be used on tuple schemas containing refinements");return this.clone({...t,items:t.items.map(e=>new Fr({type:"optional",innerType:e}))})}});function qr(t,e,r){let o=e instanceof U,n=o?r:e,s=o?e:null;return new jx({type:"tuple",items:t,rest:s,...E.normalizeParams(n)})}var Pd=w("ZodRecord",(t,e)=>{Zr(),El.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>ud(t,r,o,n),t.keyType=e.keyType,t.valueType=e.valueType});function Et(t,e,r){return!e||!e._zod?new Pd({type:"record",keyType:O(),valueType:t,...E.normalizeParams(e)}):new Pd({type:"record",keyType:t,valueType:e,...E.normalizeParams(r)})}var ki=w("ZodEnum",(t,e)=>{Al.init(t,e),j.init(t,e),t._zod.processJSONSchema=(o,n,s)=>Qf(t,o,n,s),t.enum=e.entries,t.options=[...t._zod.values];let r=new Set(Object.keys(e.entries));t.extract=(o,n)=>{let s={};for(let i of o)if(r.has(i))s[i]=e.entries[i];else throw new Error(`Key ${i} not found in enum`);return new ki({...e,checks:[],...E.normalizeParams(n),entries:s})},t.exclude=(o,n)=>{let s={...e.entries};for(let i of o)if(r.has(i))delete s[i];else throw new Error(`Key ${i} not found in enum`);return new ki({...e,checks:[],...E.normalizeParams(n),entries:s})}});function He(t,e){let r=Array.isArray(t)?Object.fromEntries(t.map(o=>[o,o])):t;return new ki({type:"enum",entries:r,...E.normalizeParams(e)})}var $i=w("ZodLiteral",(t,e)=>{Tl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>ed(t,r,o,n),t.values=new Set(e.values),Object.defineProperty(t,"value",{get(){if(e.values.length>1)throw new Error("This schema contains multiple valid literal values. Use `.values` instead.");return e.values[0]}})});function Bd(t,e){return new $i({type:"literal",values:Array.isArray(t)?t:[t],...E.normalizeParams(e)})}var qx=w("ZodTransform",(t,e)=>{Zr(),zl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>rd(t,r,o,n),t._zod.parse=(r,o)=>{if(o.direction==="backward")throw new Vt(t.constructor.name);r.addIssue=s=>{if(typeof s=="string")r.issues.push(E.issue(s,r.value,e));else{let i=s;i.fatal&&(i.continue=!1),i.code??(i.code="custom"),"input"in i||(i.input=r.value),i.inst??(i.inst=t),r.issues.push(E.issue(i))}};let n=e.transform(r.value,r);return n instanceof Promise?n.then(s=>(r.value=s,r)):(r.value=n,r)}});function Fx(t){return new qx({type:"transform",transform:t})}var Fr=w("ZodOptional",(t,e)=>{ei.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Si(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function Rd(t){return new Fr({type:"optional",innerType:t})}var Ud=w("ZodExactOptional",(t,e)=>{$l.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Si(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function Hx(t){return new Ud({type:"optional",innerType:t})}var Oi=w("ZodNullable",(t,e)=>{Ol.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>cd(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function Md(t){return new Oi({type:"nullable",innerType:t})}var Pi=w("ZodDefault",(t,e)=>{Pl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>dd(t,r,o,n),t.unwrap=()=>t._zod.def.innerType,t.removeDefault=t.unwrap});function Kx(t,e){return new Pi({type:"default",innerType:t,get defaultValue(){return typeof e=="function"?e():E.shallowClone(e)}})}var Ri=w("ZodPrefault",(t,e)=>{Rl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>pd(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function Gx(t,e){return new Ri({type:"prefault",innerType:t,get defaultValue(){return typeof e=="function"?e():E.shallowClone(e)}})}var Zd=w("ZodNonOptional",(t,e)=>{Ml.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>ld(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function Wx(t,e){return new Zd({type:"nonoptional",innerType:t,...E.normalizeParams(e)})}var Vx=w("ZodCatch",(t,e)=>{Il.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>md(t,r,o,n),t.unwrap=()=>t._zod.def.innerType,t.removeCatch=t.unwrap});function Yx(t,e){return new Vx({type:"catch",innerType:t,catchValue:typeof e=="function"?e:E.constantCatch(e)})}var Jx=w("ZodPipe",(t,e)=>{Nl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>hd(t,r,o,n),t.in=e.in,t.out=e.out});function Id(t,e){return new Jx({type:"pipe",in:t,out:e})}var Xx=w("ZodReadonly",(t,e)=>{Ll.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>gd(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function Qx(t){return new Xx({type:"readonly",innerType:t})}var ey=w("ZodCustom",(t,e)=>{Cl.init(t,e),j.init(t,e),t._zod.processJSONSchema=(r,o,n)=>td(t,r,o,n)});function ty(t,e={}){return $f(ey,t,e)}function ry(t,e){return Of(t,e)}var Hr={};Es(Hr,{bigint:()=>ay,boolean:()=>iy,date:()=>uy,number:()=>sy,string:()=>ny});function ny(t){return Hl(Ei,t)}function sy(t){return yf(Qo,t)}function iy(t){return Sf(Ai,t)}function ay(t){return kf(Ld,t)}function uy(t){return Tf(Dd,t)}var b=class extends Error{name="UserError";exitCode=1},en=class extends b{name="UsageError";exitCode=2},X=class extends b{name="FormatError";path;offsetBytes;constructor(e,r){let o=r.place??(r.offsetBytes===void 0?void 0:`byte ${r.offsetBytes}`);super(`Cannot read ${r.path}${o?` at ${o}`:""}: ${e}`,{cause:r.cause}),this.path=r.path,this.offsetBytes=r.offsetBytes}},Ke=class extends en{name="ConfigError";keyPath;constructor(e,r,o){super(`Cannot use config key ${e}: ${r}`,o),this.keyPath=e}},C=class extends Error{name="KernelError";kernel;line;file;constructor(e,r,o,n=e){let s=n===e?"":` of ${n}.wgsl`;super(`Cannot use kernel ${e}${o===void 0?"":` (line ${o}${s})`}: ${r}`),this.kernel=e,this.line=o,this.file=n}},Kr=class extends b{signal;name;exitCode;constructor(e){super(`stopped by ${e}; run the same command again to go on`),this.signal=e,this.name="InterruptedError",this.exitCode=e==="SIGINT"?130:75}};function y(t,e){if(!t)throw new Error(`Internal error: ${e}`)}function D(t,e){let r=t.get(e);return y(r!==void 0,`there is no ${e}`),r}function Mi(t,e=80){return t.length<=e?t:`${t.slice(0,e-1)}\u2026`}function Ce(t){if(!(t>=0&&t<1/0))throw new RangeError(`Cannot encode an RTT of ${t} ms: a finite number of 0 or more was wanted`);let e=Math.max(1,t*1e3),r=0;for(;e>=2048&&r<31;)e/=2,r++;return r<<11|Math.min(Math.floor(e),2047)}function tn(t){let{exponent:e,mantissa:r}=jd(t);return e>0?(r+.5)*2**e/1e3:Ii(r)}function rn(t){let{exponent:e,mantissa:r}=jd(t),o=e===31&&r===2047;return{lowMs:t===1?0:Ii(r*2**e),highMs:o?1/0:Ii((r+1)*2**e)}}function tr(t){return t>>>0!==t||t>65535?!1:(t&2047)>=(t>>11>0?1024:1)}var se=Uint16Array.from(Array.from({length:65536},(t,e)=>e).filter(tr));function Ii(t){let e=t/1e3;return e*1e3<t?e*(1+Number.EPSILON):e}function jd(t){if(!tr(t))throw new RangeError(`Cannot decode RTT code ${t}: a canonical code was wanted`);return{exponent:t>>11,mantissa:t&2047}}var qd=Date.UTC(1990,0,1)*1e3,Fd=Date.UTC(2100,0,1)*1e3;var Wd=/^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(?:Z|([+-]\d\d)(?::?(\d\d))?)?)?$/,Gr={seconds:1e6,milliseconds:1e3,microseconds:1,nanoseconds:.001},Hd="",Kd=!1;function on(t,e="seconds"){let r=/^\d+(?:\.\d+)?$/.test(t),o=r?Math.round(Number(t)*Gr[e]):cy(t);if(Gd(o))return{timeUs:o};if(Number.isNaN(o))return{fault:`${Wd.test(t)?"there is no such date or time":"it is no time"}, a time as ISO 8601 or Unix ${e} was wanted`};let n=r&&Object.keys(Gr).find(i=>Gd(+t*Gr[i]));if(!n)return{fault:"a time from 1990 to 2099 was wanted"};let s=Math.floor(+t*Gr[n]/Gr[e]);return{fault:`these look like ${n}, Unix ${e} were wanted, such as ${s}`}}function Gd(t){return t>=qd&&t<Fd}function cy(t){let e=Wd.exec(t);if(!e)return NaN;let[,r,o="00:00",n="+00",s="00"]=e;if(r!==Hd){let u=Date.parse(`${r}T00:00Z`);Kd=!Number.isNaN(u)&&new Date(u).toISOString().startsWith(r),Hd=r}if(!Kd)return NaN;let[i,a=""]=o.split(".");return Date.parse(`${r}T${i}${n}:${s}`)*1e3+Number(a.slice(0,6).padEnd(6,"0"))}var Yd=46,Vd=58,Wr=8;function nn(t){return t.includes(":")?ly(t):Jd(t,0)}function Ee(t){if(t.length===4)return t.join(".");if(t.length!==16)throw new RangeError(`Cannot write an address: found ${t.length} bytes, 4 or 16 were wanted`);if(py(t))return`::ffff:${t.subarray(12).join(".")}`;let e=Array.from({length:Wr},(s,i)=>t[2*i]<<8|t[2*i+1]),[r,o]=my(e),n=e.map(s=>s.toString(16));return o<2?n.join(":"):`${n.slice(0,r).join(":")}::${n.slice(r+o).join(":")}`}function Jd(t,e){let r=new Uint8Array(4),o=e;for(let n=0;n<4;n++){if(n>0&&t.charCodeAt(o++)!==Yd)return;let s=o,i=0;for(;o-s<3;o++){let u=t.charCodeAt(o)-48;if(!(u>=0&&u<=9))break;i=i*10+u}let a=o-s;if(a===0||i>255||a>1&&t.charCodeAt(s)===48)return;r[n]=i}return o===t.length?r:void 0}function ly(t){let e=new Uint8Array(16),r=0,o=0,n=-1;for(t.startsWith("::")&&([r,n]=[2,0]);r<t.length;){if(o===Wr)return;let s=fy(t,r);if(t.charCodeAt(s)===Yd){let a=Jd(t,r);if(!a||o>Wr-2)return;e.set(a,2*o),o+=2;break}if(s===r||s-r>4)return;let i=parseInt(t.slice(r,s),16);if(e[2*o]=i>>8,e[2*o+1]=i&255,o++,s===t.length)break;if(t.charCodeAt(s)!==Vd||s+1===t.length)return;if(r=s+1,t.charCodeAt(r)===Vd){if(n>=0)return;n=o,r++}}return dy(e,o,n)}function fy(t,e){let r=e;for(;r<t.length;r++){let o=t.charCodeAt(r),n=o>=48&&o<=57,s=o|32;if(!n&&!(s>=97&&s<=102))break}return r}function dy(t,e,r){if(r<0)return e===Wr?t:void 0;if(e===Wr)return;let o=2*(e-r);return t.copyWithin(16-o,2*r,2*e),t.fill(0,2*r,16-o),t}function py(t){return t.subarray(0,10).every(e=>e===0)&&t[10]===255&&t[11]===255}function my(t){let e=0,r=0,o=0;return t.forEach((n,s)=>{o=n===0?o+1:0,o>r&&([e,r]=[s-o+1,o])}),[e,r]}function Ni(t){let{bytes:e,length:r}=Qd(t);return{bytes:e.map((o,n)=>o&Li(r,n)),length:r}}function Xd(t){let{bytes:e,length:r}=Qd(t);return e.some((o,n)=>(o&~Li(r,n))!==0)}function J({bytes:t,length:e}){return e===t.length*8}function Ge(t){let e=Ee(t.bytes);return J(t)?e:`${e}/${t.length}`}function sn({bytes:t,length:e},r){return{first:t[r],last:t[r]|~Li(e,r)&255}}function Li(t,e){return 255<<8-Math.min(8,Math.max(0,t-8*e))&255}function Vr(t){return/^AS\d+$/i.test(t)?"; this is an AS number: give one of its prefixes":/^(?=.*[a-z])[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?$/i.test(t)?"; this looks like a host name: resolve it first and give its address":""}function Qd(t){let e=hy(t);if("fault"in e)throw new b(`Cannot read ${JSON.stringify(t)}: ${e.fault}`);return e}function hy(t){let e=t.indexOf("/"),r=nn(e<0?t:t.slice(0,e));if(!r)return{fault:`an IPv4 or IPv6 address or prefix was wanted${Vr(t)}`};let o=r.length*8;if(e<0)return{bytes:r,length:o};let n=t.slice(e+1),s=/^(0|[1-9]\d{0,2})$/.test(n)?Number(n):NaN;return s<=o?{bytes:r,length:s}:{fault:`found length ${n||"none"}, 0 to ${o} was wanted`}}var gy=["src","dst","time","context"],wy=["src","dst","time","rtt"],_y=80;function an(t){let{src:e,dst:r,time:o,context:n}=op(t,gy),s=[],i=ep("src",e,s),a=ep("dst",r,s);return{source:i,destination:a,timeS:sp(o),context:by(n,s),notes:s}}function rp(t){let{source:e,destination:r,timeS:o,context:n}=Ci(t);for(let s of[e,r])if(!J(s))throw new b(`Cannot give one exact distribution for ${Ge(s)}: two addresses were wanted; use rttBetweenPrefixes`);return{source:e.bytes,destination:r.bytes,timeS:o,context:n}}function Ci(t){let{source:e,destination:r,timeS:o,context:n}=an(t);return{source:e,destination:r,timeS:o,context:n??[]}}function xy(t){if(Xd(t))return`${t} has bits after the prefix: taken as ${Ge(Ni(t))}`}function op(t,e){let r=Object.keys(t).find(o=>!e.includes(o));if(r===void 0)return t;throw new b(`found ${Mi(r)}, only ${e.join(", ")} were wanted`)}function ep(t,e,r){let o=np(t,e,"address or prefix");try{let n=Ni(o),s=xy(o);return s!==void 0&&r.push(s),n}catch(n){throw n instanceof b?new b(`${t}: ${n.message}`):n}}function tp(t,e){let r=np(t,e,"address"),o=nn(r);if(o)return o;throw new b(`found ${t} ${We(r)}, an IPv4 or IPv6 address was wanted${Vr(r)}`)}function np(t,e,r){if(typeof e=="string"&&e!==""&&e.length<=_y)return e;let o=e===void 0||e===""?`no ${t}`:`${t} ${We(e)}`;throw new b(`found ${o}, an IPv4 or IPv6 ${r} was wanted`)}function yy(t){let e=on(t);return"fault"in e?e:{timeS:Math.floor(e.timeUs/1e6)}}function sp(t){if(t==null||t==="")return null;let e=yy(typeof t=="string"||typeof t=="number"?String(t):"");if("timeS"in e)return e.timeS;throw new b(`found time ${We(t)}, ${e.fault}`)}function by(t,e){if(t==null)return null;if(!Array.isArray(t))throw new b(`found context ${We(t)}, an array of measurements was wanted`);let r=t.map((o,n)=>{try{return Yr(o)}catch(s){throw s instanceof b?new b(`context[${n}]: ${s.message}`):s}});return Sy(r,e)}function Yr(t){if(typeof t!="object"||t===null)throw new b("found no JSON object, one with src, dst, time and rtt was wanted");let{src:e,dst:r,time:o,rtt:n}=op(t,wy),s=tp("src",e),i=tp("dst",r);if(s.length!==i.length)throw new b("found addresses of different IP versions, two of one version were wanted");return{source:s,destination:i,rttCode:vy(n),timeS:sp(o)}}function vy(t){if(t===null)return null;if(typeof t=="number"&&t>=0&&t<1/0)return Ce(t);let e=t===void 0?"no rtt":`rtt ${We(t)}`;throw new b(`found ${e}, ms of 0 or more, or null for no reply, was wanted`)}function We(t){return typeof t=="object"&&t!==null?Array.isArray(t)?"an array":"an object":JSON.stringify(typeof t=="string"?Mi(t):t)}function Sy(t,e){let r=t.map(({timeS:o})=>o).filter(o=>o!==null);if(r.length>0&&r.length<t.length)throw new b("found context with a time in some measurements only, in all or none was wanted");return r.every((o,n)=>n===0||o>=r[n-1])?t:(e.push("the context is not in order of time: it was sorted"),t.toSorted((o,n)=>(o.timeS??0)-(n.timeS??0)))}var ky={400:"Bad Request",404:"Not Found",405:"Method Not Allowed",408:"Request Timeout",413:"Content Too Large",415:"Unsupported Media Type",421:"Misdirected Request",429:"Too Many Requests",431:"Request Header Fields Too Large",500:"Internal Server Error",503:"Service Unavailable"},Ey=["AbortError","TimeoutError"],ip="Cannot answer: the request was ended before its answer was there; ask again",Ae=class extends Error{name="ApiError";problem;constructor(e,r,o){super(r,o),this.problem={type:"about:blank",title:ky[e],status:e,detail:r}}};function un(t){return Ay(t).problem}function Ay(t){return t instanceof Ae?t:t instanceof Kr?new Ae(503,ip):t instanceof b?new Ae(400,ap(t.message)):t instanceof Yo?new Ae(400,ap(Di(t))):t instanceof DOMException&&Ey.includes(t.name)?new Ae(503,ip):new Ae(500,"Cannot answer: an error of the server, not of the request; its log says more")}async function or(t){try{return await t()}catch(e){throw!(e instanceof b)||e instanceof Kr?e:new Error(`Internal error: ${e.message}`,{cause:e})}}function ap(t){return t.startsWith("Cannot ")?t:`Cannot answer: ${t}`}function Di({issues:[t]},e){let{path:r}=t,o=r.map((i,a)=>typeof i=="number"?`[${i}]`:`${a>0?".":""}${String(i)}`).join("");if(t.code==="unrecognized_keys"){let i=We(t.keys[0]);return`found ${o===""?i:`${i} in ${o}`}, ${t.message}`}let n=cp(t);if(!e)return o===""?n:`${o}: ${n}`;let s=r.reduce(Ty,e.value);return s===void 0?`found no ${o||"value"}, ${n}`:`found ${o===""?"":`${o} `}${We(s)}, ${n}`}function Ty(t,e){return typeof t=="object"&&t!==null?Reflect.get(t,e):void 0}var zy={string:"text was wanted",number:"a number was wanted",int:"a whole number was wanted",array:"an array was wanted",tuple:"an array was wanted",object:"a JSON object was wanted"};function cp(t){return t.message.endsWith(" wanted")?t.message:t.code==="invalid_type"?zy[t.expected]??`${t.expected} was wanted`:t.code==="invalid_union"?`${t.errors.map(([r])=>cp(r).replace(/ was wanted$/,"")).join(" or ")} was wanted`:t.code==="too_small"?`at least ${up(t.origin,t.minimum)} wanted`:t.code==="too_big"?`at most ${up(t.origin,t.maximum)} wanted`:t.message}function up(t,e){return t==="array"?e===1?"1 value was":`${e} values were`:`${e} was`}function $y(t,e){let r=[],o=Array.from({length:e.length+1},(n,s)=>s);for(let n=1;n<=t.length;n++){let s=[n];for(let i=1;i<=e.length;i++){let a=o[i-1]+(t[n-1]===e[i-1]?0:1);s[i]=Math.min(o[i]+1,s[i-1]+1,a),n>1&&i>1&&t[n-1]===e[i-2]&&t[n-2]===e[i-1]&&(s[i]=Math.min(s[i],r[i-2]+1))}[r,o]=[o,s]}return o[e.length]}function lp(t,e){let o=e.map(n=>({name:n,distance:$y(t,n)})).sort((n,s)=>n.distance-s.distance)[0];return o&&o.distance<=Math.max(2,Math.floor(t.length/3))?`; did you mean ${o.name}?`:`; known are ${e.join(", ")}`}function pp(t,e,r=""){let o=t.safeParse(e);if(o.success)return o.data;let n=o.error.issues[0],s=n.path.map(String);if(n.code==="unrecognized_keys"){let u=n.keys[0],c=lp(u,Bi(t,s,e));throw new Ke(fp(r,[...s,u]),`the key is unknown${c}`)}let i=Ui(e,n.path),a=i===void 0?"nothing":JSON.stringify(i);throw new Ke(fp(r,s),`found ${a}, ${Oy(n)}`)}function Oy(t){switch(t.code){case"custom":return t.message;case"invalid_type":return`${Py(t.expected==="int"?"integer":t.expected)} was wanted`;case"too_small":return`${t.inclusive?"at least":"more than"} ${t.minimum} was wanted`;case"too_big":return`${t.inclusive?"at most":"less than"} ${t.maximum} was wanted`;case"invalid_value":return`${t.values.map(String).join(" or ")} was wanted`;default:return t.message}}function Py(t){return`${/^[aeiou]/.test(t)?"an":"a"} ${t}`}function fp(t,e){return[...t?[t]:[],...e].join(".")||"(all)"}function Ui(t,e){let r=t;for(let o of e){if(typeof r!="object"||r===null)return;r=r[o]}return r}function Bi(t,e,r){let o=dp(t);if(o instanceof Ti){let a=o.options.map(c=>dp(c)),u=a.filter(c=>Ry(c,r));return(u.length>0?u:a).flatMap(c=>Bi(c,e,r))}if(!(o instanceof jr))return[];let n=o.shape;if(e.length===0)return Object.keys(n);let[s,...i]=e;return n[s]?Bi(n[s],i,Ui(r,[s])):[]}function Ry(t,e){return t instanceof jr?Object.entries(t.shape).every(([r,o])=>!(o instanceof $i)||o.safeParse(Ui(e,[r])).success):!1}function dp(t){let e=t;for(;e instanceof Pi||e instanceof Ri||e instanceof Fr||e instanceof Oi;)e=e.unwrap();return e}var mp=["float64","fixed","log","clipped"];var Zi=Number.MAX_SAFE_INTEGER,qi=.001,My=1e6,hp=65535,ji=65535,Fi=Math.log(My/qi)/hp,yA=Math.expm1(Fi/2),Iy={name:"float64",maxRttMs:Number.MAX_VALUE,encode(t,e){t!==null&&ln(t,Number.MAX_VALUE),e.setFloat64(0,t===null?-1:t+0)},decode(t){let e=t.getFloat64(0);return e===-1?null:e>=0&&e<1/0&&!Object.is(e,-0)?e:void 0}},gp={name:"fixed",maxRttMs:Zi/1e3,encode(t,e){t!==null&&ln(t,gp.maxRttMs),wp(t===null?null:Math.min(Math.round(t*1e3),Zi),e)},decode(t){return _p(t,Zi)}},Ny={name:"log",maxRttMs:Number.MAX_VALUE,encode(t,e){e.setUint32(0,0),e.setUint32(4,t===null?ji:Cy(t))},decode(t){let e=t.getUint32(4);if(!(t.getUint32(0)!==0||e>ji))return e===ji?null:qi*Math.exp((e+.5)*Fi)}};function Ly(t){if(!Number.isSafeInteger(t)||t<1)throw new RangeError(`Cannot clip RTTs at ${t} \xB5s: an integer in 1..2^53-1 was wanted`);return{name:"clipped",clipUs:t,maxRttMs:Number.MAX_VALUE,encode(e,r){e!==null&&ln(e,Number.MAX_VALUE),wp(e===null?null:Math.min(Math.round(e*1e3),t),r)},decode(e){return _p(e,t)}}}function cn({name:t,clipMs:e}){return t==="clipped"?Ly(Math.max(1,Math.round(e*1e3))):{float64:Iy,fixed:gp,log:Ny}[t]}function ln(t,e){if(!(t>=0&&t<=e))throw new RangeError(`Cannot encode an RTT of ${t} ms: a number in 0..${e} was wanted`)}function Cy(t){ln(t,Number.MAX_VALUE);let e=Math.floor(Math.log(t/qi)/Fi);return Math.max(0,Math.min(e,hp-1))}function wp(t,e){e.setUint32(0,t===null?4294967295:Math.floor(t/4294967296)),e.setUint32(4,t===null?4294967295:t%4294967296)}function _p(t,e){let r=t.getUint32(0),o=t.getUint32(4);if(r===4294967295&&o===4294967295)return null;let n=r*4294967296+o;return n<=e?n/1e3:void 0}var Dy=new Uint16Array(9);function fn(t,e,r){if(e===0)return;let o=Dy,n=t[0],s=0;for(;s<Math.min(e,9);){let l=t[s],f=s++;for(;f>0&&o[f-1]>l;f--)o[f]=o[f-1];o[f]=l,s<=5&&(n=o[s-1>>1])}let i=o[Math.floor((3*s-1)/4)]-o[Math.floor(s/4)],a=Math.min(11,Math.ceil(Math.log2(1+Math.max(0,i)))),u=r===null?0:Math.min(25,1+Math.floor(Math.log2(1+Math.max(0,r)))),c=Math.floor(Math.log2(s));return{typicalCode:n,newestCode:t[0],spread:c*12+a,age:u}}var dn=2;function xp({typicalCode:t,newestCode:e,spread:r,age:o},n,s){n[s]=t<<16|e,n[s+1]=r<<16|o}function yp(t,e){let[r,o]=[t[e],t[e+1]];if(r!==0)return{typicalCode:r>>>16,newestCode:r&65535,spread:o>>>16,age:o&65535}}var Qr={};Es(Qr,{BYTE_BASE:()=>z,DST_IPV4:()=>ie,DST_IPV6:()=>xe,FAILED:()=>ce,FIELD_ORDERS:()=>Jr,MEASUREMENT_START:()=>ee,QUERY_ORDER:()=>Be,ROLE_NAMES:()=>pn,RTT_START:()=>B,SRC_IPV4:()=>_e,SRC_IPV6:()=>tt,THROUGHPUT_START:()=>By,TIMESTAMP_ABS:()=>ae,TIMESTAMP_DELTA1:()=>De,TIMESTAMP_DELTA4:()=>ye,VOCAB_SIZE:()=>pt,measurementLength:()=>mt,timeLength:()=>Xr,tokenName:()=>Hi,untimedLength:()=>bp});var ee=0,_e=1,tt=2,ie=3,xe=4,ae=5,De=6,ye=7,B=8,By=9,ce=10,z=11,pt=267,pn=["MeasurementStart","SrcIpv4","SrcIpv6","DstIpv4","DstIpv6","TimestampAbs","TimestampDelta1","TimestampDelta4","RttStart","ThroughputStart","Failed"],Jr=vp(["source","destination","result","time"]),Be=["source","destination","time","result"];function Hi(t){return t>=11&&t<267?`byte ${t-11}`:pn[t]??`unknown token ${t}`}function mt(t,e){return bp(t.source.length,t.destination.length,t.rttCode===null)+Xr(t.timeS,e)}function bp(t,e,r){return 3+t+e+(r?1:3)}function Xr(t,e){return t===null?0:e===null?9:t-e<=255?2:5}function vp(t){return t.length<=1?[[...t]]:t.flatMap(e=>vp(t.filter(r=>r!==e)).map(r=>[e,...r]))}var Ue=class{at;previousTimeS=null;#e;constructor(e,r=0){this.#e=e,this.at=r}write(e,r){let o=this.at,n=mt(e,this.previousTimeS);if(o+n>this.#e.length)throw new RangeError(`Cannot write a measurement of ${n} tokens: found room for ${this.#e.length-o}`);this.#e[this.at++]=0;for(let s of r)s==="source"?this.#t(1,e.source):s==="destination"?this.#t(3,e.destination):s==="result"?this.#r(e.rttCode):e.timeS!==null&&this.#o(e.timeS);return this.at-o!==n&&y(!1,`the order ${r} gave ${this.at-o} of ${n} tokens`),n}#t(e,r){if(r.length!==4&&r.length!==16)throw new RangeError(`Cannot write an address: found ${r.length} bytes, 4 or 16 were wanted`);this.#e[this.at++]=r.length===4?e:e+1;for(let o=0;o<r.length;o++)this.#e[this.at++]=11+r[o]}#r(e){if(e===null){this.#e[this.at++]=10;return}if(!tr(e))throw new RangeError(`Cannot write RTT code ${e}: a canonical code was wanted`);this.#e[this.at++]=8,this.#n(e,2)}#o(e){if(!Number.isSafeInteger(e)||e<0)throw new RangeError(`Cannot write the time ${e}: whole seconds in 0..2^53-1 were wanted`);if(this.previousTimeS===null){this.#e[this.at++]=5,this.#n(e,8),this.previousTimeS=e;return}let r=Math.max(0,e-this.previousTimeS);if(r>4294967295)throw new RangeError(`Cannot write a gap of ${r} s: at most 2^32-1 s were wanted`);this.#e[this.at++]=r<=255?6:7,this.#n(r,r<=255?1:4),this.previousTimeS+=r}#n(e,r){let o=e;for(let n=this.at+r-1;n>=this.at;n--){let s=Math.floor(o/256);this.#e[n]=11+o-s*256,o=s}this.at+=r}};var Ze=class extends b{position;name;constructor(e,r){super(`Cannot decode tokens at position ${e}: ${r}`),this.position=e,this.name="TokenError"}},eo=class{tokens;grammar;at;constructor(e,r){this.tokens=e,this.grammar=r,this.at=0}readStart(){let{MEASUREMENT_START:e,tokenName:r}=this.grammar;if(this.tokens[this.at]!==e)throw this.unexpected(r(e));this.at++}readByte(){let e=this.tokens[this.at],{BYTE_BASE:r,VOCAB_SIZE:o}=this.grammar;if(!(e>=r&&e<o))throw this.unexpected("a byte");return this.at++,e-r}readBytes(e){let r=new Uint8Array(e);for(let o=0;o<e;o++)r[o]=this.readByte();return r}unexpected(e){let o=this.at>=this.tokens.length?"the end of the tokens":this.grammar.tokenName(this.tokens[this.at]);return new Ze(this.at,`found ${o}, ${e} was wanted`)}};function Gi(t){let e=new Ki(t),r=[];for(;e.at<t.length;)r.push(e.readMeasurement());return r}var Ki=class extends eo{#e=null;constructor(e){super(e,Qr)}readMeasurement(){let e=this.at;this.readStart();let r=[],o,n,s,i=null;for(;this.at<this.tokens.length&&this.tokens[this.at]!==0;){let a=Uy(this.tokens[this.at]);if(a===void 0)throw this.unexpected("a block");if(r.includes(a))throw this.unexpected(`no second ${a}`);r.push(a),a==="source"?o=this.#t():a==="destination"?n=this.#t():a==="result"?s={rttCode:this.#r()}:i=this.#o()}if(!o)throw this.unexpected("a source");if(!n)throw this.unexpected("a destination");if(!s)throw this.unexpected("a result");return{source:o,destination:n,rttCode:s.rttCode,timeS:i,order:r,position:e}}#t(){let e=this.tokens[this.at++];return this.readBytes(e===1||e===3?4:16)}#r(){if(this.tokens[this.at++]===10)return null;let e=this.at,r=this.#n(2);if(!tr(r))throw new Ze(e,`found RTT code ${r}, a canonical code was wanted`);return r}#o(){let e=this.at,r=this.tokens[this.at++];if(r===5!=(this.#e===null)){let i=r===5?"a gap after the first time":"an absolute first time";throw new Ze(e,`found ${Hi(r)}, ${i} was wanted`)}let o=r===5?8:r===6?1:4,n=this.#n(o);if(r===7&&n<=255)throw new Ze(e,`found a gap of ${n} s in 4 bytes, 1 byte was wanted`);let s=(this.#e??0)+n;if(!Number.isSafeInteger(s))throw new Ze(e,`found a time of ${s} s, at most 2^53-1 s were wanted`);return this.#e=s,s}#n(e){let r=0;for(let o=0;o<e;o++)r=r*256+this.readByte();return r}};function Uy(t){if(t===1||t===2)return"source";if(t===3||t===4)return"destination";if(t===8||t===10)return"result";if(t>=5&&t<=7)return"time"}var ht=11,Wi=2**20;function Sp(t,e){let r=t.slice(-9).reverse();return fn(r.map(({rttCode:o})=>o),r.length,kp(e,r[0]?.timeS??null))}function kp(t,e){return t===null||e===null?null:Math.abs(t-e)}var mn=class{#e;#t;constructor(e){this.#e=new Uint16Array(e*9),this.#t=new Float64Array(e)}add(e,{rttCode:r,timeS:o}){let n=e*9;this.#e.copyWithin(n+1,n,n+9-1),this.#e[n]=r,this.#t[e]=o??0}recall(e,{timeS:r=null,newer:o=[]}={}){let n=this.#e.subarray(e*9,(e+1)*9),s=this.#t[e],i=o.filter(c=>c.timeS===null||c.timeS>s),a=[...i.map(({rttCode:c})=>c).reverse(),...n.filter(c=>c>0)],u=i.at(-1)?.timeS??(s>0?s:null);return fn(a,a.length,kp(r,u))}save(){let e=this.#t.length,r=new Float32Array(e*ht);for(let o=0;o<e;o++){let n=this.#e.slice(o*9,(o+1)*9).reverse(),s=this.#t[o];r.set([...n,Math.floor(s/Wi),s%Wi],o*ht)}return r}load(e){let r=this.#t.length;y(e.length===r*ht,`${e.length} numbers of pairs`);for(let o=0;o<r;o++){let n=o*ht,s=e.slice(n,n+9).reverse();this.#e.set(s,o*9),this.#t[o]=e[n+9]*Wi+e[n+9+1]}}},Zy={[5]:8,[6]:1,[7]:4,[8]:2},hn=class t{timeS=null;#e=0;#t=0;#r=0;#o=0;#n=0;#s=new Map;#i=!1;clone(){let e=new t;return e.timeS=this.timeS,e.#e=this.#e,e.#t=this.#t,e.#r=this.#r,e.#o=this.#o,e.#n=this.#n,e.#s=this.#s,e.#i=this.#i=!0,e}read(e){e<11?(this.#r=e,this.#o=0,this.#n=Zy[e]??0):this.#n>0&&(this.#o=this.#o*256+e-11,--this.#n===0&&this.#a(this.#o))}end(e){if(e!==void 0&&this.#t>0){this.#i&&(this.#s=new Map(this.#s)),this.#i=!1;let r={rttCode:this.#t,timeS:this.timeS};this.#s.set(e,[...this.rttsOf(e),r].slice(-9))}this.timeS=null,this.#t=0}rttsOf(e){return this.#s.get(e)??[]}#a(e){this.#r===8?this.#t=e:this.timeS=this.#e=e+(this.#r===5?0:this.#e)}};function Te(t){let e=t|0;return e=Math.imul(e^e>>>16,2246822507),e=Math.imul(e^e>>>13,3266489909),(e^e>>>16)>>>0}function gn(t){return Math.log(Math.max(t,.001))}var jy=.001;function Vi(t,e){return t===0?e:(Math.exp(t*e)-1)/t}function Ep(t,e){return t===0?e:Math.log(Math.max(1+t*e,jy**t))/t}function Yi(t,e,r){let[o,n]=t<e?[t,e]:[e,t];return Te(Te(o+1)^Math.imul(n+1,2654435769))%r}var wn=class{pairs;numFolds;start;others;logs;folds;weights;constructor(e,r){this.pairs=e,this.numFolds=r;let{numNodes:o,a:n,b:s,rttMs:i,weights:a}=e;y(s.length===n.length&&i.length===n.length,`${n.length}, ${s.length}, ${i.length} pairs`),this.start=new Float64Array(o+1);for(let f=0;f<n.length;f++)y(n[f]<o&&s[f]<o,`a pair of nodes ${n[f]} and ${s[f]} of ${o}`),n[f]!==s[f]&&(this.start[n[f]+1]++,this.start[s[f]+1]++);for(let f=0;f<o;f++)this.start[f+1]+=this.start[f];let u=this.start[o];this.others=new Uint32Array(u),this.logs=new Float32Array(u),this.folds=new Uint8Array(u),this.weights=new Float32Array(u);let c=this.start.slice(),l=(f,d,p)=>{let m=c[f]++;this.others[m]=d,this.logs[m]=gn(i[p]),this.folds[m]=Yi(f,d,r),this.weights[m]=a?.[p]??1};for(let f=0;f<n.length;f++)n[f]!==s[f]&&(l(n[f],s[f],f),l(s[f],n[f],f))}get numNodes(){return this.pairs.numNodes}},fe=-1;function Ap(t,e){let{start:r,others:o,folds:n,numNodes:s}=t,i=new Float32Array(s).fill(fe),a=new Uint32Array(s);for(let u=0;u<s;u++){let c=0;for(i[u]===fe&&(a[c++]=u);c>0;){let l=a[--c];for(let f=r[l];f<r[l+1];f++)e>>n[f]&1||(i[l]=u,i[o[f]]===fe&&(i[o[f]]=u,a[c++]=o[f]))}}return i}function zp(t,e,{estimate:r,usualError:o}){let n=to(e,64),s=n.map(f=>Float64Array.from(t,d=>r(d.place,f.place))),i=n.map(({log:f},d)=>s[d].map(p=>-4/2*Math.log1p(((p-f)/o)**2/3))),a=new Float64Array(t.length);for(let f of i)f.forEach((d,p)=>a[p]+=d);let u=n.map(({log:f},d)=>{let p=Tp(a.map((m,h)=>m-i[d][h]));return Math.abs(p.reduce((m,h,g)=>m+h*s[d][g],0)-f)}).sort((f,d)=>f-d),c=u.length,l=o*(1+2/c);return{nodes:[...Tp(a)].flatMap((f,d)=>f>0?[{node:t[d].node,weight:f}]:[]),error:(c*u[c>>1]+8*l)/(c+8)}}function Tp(t){let e=t.reduce((n,s)=>Math.max(n,s),-1/0),r=t.map(n=>Math.exp(n-e)).map(n=>n<1e-6?0:n),o=r.reduce((n,s)=>n+s,0);return r.map(n=>n/o)}function to(t,e){return t.length<=e?t:Array.from({length:e},(r,o)=>t[Math.floor(o*t.length/e)])}var $p=3528531795,Op=3449720151,qy=2654435769,Fy=3144134277,Hy=10,_n=2**32;var je=class{#e;#t;#r;#o;#n;#s=new Uint32Array(4);#i=0;#a=4;constructor(e,r,...o){if(!Number.isSafeInteger(e)||e<0)throw new RangeError(`Cannot seed a random stream: found ${e}, an integer in 0..2^53-1 was wanted`);if(o.length>3||o.some(i=>i>>>0!==i))throw new RangeError(`Cannot index a random stream: found [${o}], up to three u32 were wanted`);let[n,s]=Ky(r);Pp(this.#s,n,s,0,0,e>>>0,Math.floor(e/_n)),this.#e=this.#s[0],this.#t=this.#s[1],this.#r=o[0]??0,this.#o=o[1]??0,this.#n=o[2]??0}restart(e,r=0,o=0){this.#r=e,this.#o=r,this.#n=o,this.#i=0,this.#a=4}uint32(){return this.#a===4&&this.#u(),this.#s[this.#a++]}float64(){let e=this.uint32()>>>5,r=this.uint32()>>>6;return(e*2**26+r)*2**-53}below(e){if(e===_n)return this.uint32();if(e===0||e>>>0!==e)throw new RangeError(`Cannot draw an integer below ${e}: 1..2^32 was wanted`);let r=this.uint32();if(Math.imul(r,e)>>>0<e){let o=(_n-e)%e;for(;Math.imul(r,e)>>>0<o;)r=this.uint32()}return Ji(r,e)>>>0}normal(){return Math.sqrt(2*this.exponential())*Math.cos(2*Math.PI*this.float64())}exponential(){return-Math.log(1-this.float64())}shuffle(e){for(let r=e.length-1;r>0;r--){let o=this.below(r+1),n=e[r];e[r]=e[o],e[o]=n}}#u(){y(this.#i<_n,"a random stream gave all of its 2^34 numbers"),Pp(this.#s,this.#i++,this.#r,this.#o,this.#n,this.#e,this.#t),this.#a=0}};function Pp(t,e,r,o,n,s,i){let a=e|0,u=r|0,c=o|0,l=n|0,f=s|0,d=i|0;for(let p=0;p<Hy;p++){let m=Ji(a,$p),h=Math.imul(a,$p),g=Ji(c,Op),_=Math.imul(c,Op);a=g^u^f,u=_,c=m^l^d,l=h,f=f+qy|0,d=d+Fy|0}t[0]=a,t[1]=u,t[2]=c,t[3]=l}function Ji(t,e){let[r,o,n,s]=[t&65535,t>>>16,e&65535,e>>>16],i=Math.imul(o,n)+(Math.imul(r,n)>>>16)|0,a=Math.imul(r,s)+(i&65535)|0;return Math.imul(o,s)+(i>>>16)+(a>>>16)|0}var Rp=new Map;function Ky(t){let e=Rp.get(t);if(e)return e;let r=0xcbf29ce484222325n;for(let n of new TextEncoder().encode(t))r=BigInt.asUintN(64,(r^BigInt(n))*0x100000001b3n);let o=[Number(r&0xffffffffn),Number(r>>32n)];return Rp.set(t,o),o}var xn=class{numFeatures;#e;#t;#r;constructor(e){this.numFeatures=e,this.#e=new Float64Array(e**2),this.#t=new Float64Array(e),this.#r=new Float64Array(e**2)}clear(){this.#e.fill(0),this.#t.fill(0)}add(e,r){let o=this.numFeatures;for(let n=0;n<o;n++){this.#t[n]+=r*e[n];for(let s=0;s<=n;s++)this.#e[n*o+s]+=e[n]*e[s]}}addFour(e,r,o){let n=this.numFeatures,s=this.#e,i=this.#t;for(let a=0;a<n;a++){let u=o[0]*e[a],c=o[1]*e[n+a],l=o[2]*e[2*n+a],f=o[3]*e[3*n+a];i[a]+=u*r[0]+c*r[1]+l*r[2]+f*r[3];for(let d=0,p=a*n;d<=a;d++,p++)s[p]+=u*e[d]+c*e[n+d]+l*e[2*n+d]+f*e[3*n+d]}}solve(e,r){let o=this.numFeatures,n=this.#r,s=new Float64Array(o);for(let i=0;i<o;i++){let a=typeof e=="number"?e:e[i],u=this.#t[i]+a*(r?.[i]??0);for(let c=0;c<=i;c++){let l=this.#e[i*o+c]+(i===c?a:0);for(let f=0;f<c;f++)l-=n[i*o+f]*n[c*o+f];n[i*o+c]=i===c?Math.sqrt(l):l/n[c*o+c]}for(let c=0;c<i;c++)u-=n[i*o+c]*s[c];s[i]=u/n[i*o+i]}for(let i=o-1;i>=0;i--){for(let a=i+1;a<o;a++)s[i]-=n[a*o+i]*s[a];s[i]/=n[i*o+i]}return s}};var Gy=.1,Wy=.25,Vy=3;function Mp(t,e){return t>Math.floor(e*Wy)?-1:1}var ro=class{#e;#t;#r;#o;#n;#s=new Float64Array(4);#i=new Float64Array(4);#a=0;constructor(e){this.#e=e;let r=e.rank+1;this.#t=new xn(r),this.#r=new Float64Array(r).fill(e.regularisation),this.#r[0]*=Vy,this.#o=Float64Array.from({length:r},(o,n)=>Mp(n,e.rank)),this.#n=new Float64Array(4*r)}add({value:e,weight:r},o,n,s,i=0){let a=this.#o,u=a.length,c=this.#a*u,l=this.#n,f=e-o[n];l[c]=1;for(let p=1;p<u;p++)l[c+p]=a[p]*o[n+p];let d=r;if(s){let p=f;for(let m=0;m<u;m++)p-=l[c+m]*s[i+m];d*=this.#e.knee/Math.max(this.#e.knee,Math.abs(p))}this.#s[this.#a]=f,this.#i[this.#a++]=d,this.#a===4&&this.#u()}solve(e){this.#i.fill(0,this.#a),this.#u();let r=this.#t.solve(this.#r,e);return this.#t.clear(),r}#u(){this.#t.addFour(this.#n,this.#s,this.#i),this.#a=0}};function Ip(t,e,r){let o=new je(r,"coordinates/vectors"),n=s=>s%(e+1)===0;return Float64Array.from({length:t*(e+1)},(s,i)=>n(i)?0:Gy*o.normal())}function Np(t,e,r){let{neighbours:{start:o,others:n,folds:s,weights:i,numNodes:a},values:u}=e,{rank:c,numPlainSweeps:l,numSweeps:f,without:d}=r,p=c+1,m=new ro(r);for(let h=0;h<f;h++){let g=h<l?void 0:t;for(let _=0;_<a;_++){if(o[_]===o[_+1]){t.fill(0,_*p,(_+1)*p);continue}for(let x=o[_];x<o[_+1];x++){if(d>>s[x]&1)continue;let A={value:u[x],weight:i[x]};m.add(A,t,n[x]*p,g,_*p)}t.set(m.solve(),_*p)}}}function Lp(t,e,r,o){let n=t[r]+e[r];for(let s=1;s<=o;s++)n+=Mp(s,o)*t[r+s]*e[r+s];return n}var Xy=2,Qy=2/3,eb=5,tb=2,Dp=fe-1,At=class t{factors;#e;constructor(e){this.factors=e,this.#e=e.options.rank+1}static fit(e,r){let{powers:o,rank:n,without:s}=r,{numNodes:i,logs:a}=e,u=n+1,c=rb(e,s),l=new Float32Array(i*o.length*u),f=new Float32Array(a.length),d=Ip(i,n,r.seed);return o.forEach((p,m)=>{for(let g=0;g<f.length;g++)f[g]=Vi(p,a[g]-c[0]);let h=m===0?{numPlainSweeps:Xy,numSweeps:r.numSweeps}:{numPlainSweeps:0,numSweeps:Math.ceil((1-Qy)*r.numSweeps)};Np(d,{neighbours:e,values:f},{...r,...h});for(let g=0;g<i;g++)l.set(d.subarray(g*u,(g+1)*u),(g*o.length+m)*u)}),new t({powers:o,options:r,vectors:l,components:Ap(e,s),range:c})}placeOf(e){let{powers:r,vectors:o,components:n}=this.factors,s=r.length*this.#e,i=n[e];return{vectors:o.subarray(e*s,(e+1)*s),component:i<fe?Dp-i:i}}put(e,{vectors:r,component:o}){this.placeOf(e).vectors.set(r),this.factors.components[e]=o===fe?fe:Dp-o}estimate(e,r){if(e.component===fe||r.component===fe)return;let{powers:o,options:n,range:[s,i,a]}=this.factors,u=e.component===r.component?n.rank:0,c=0,l=1/0,f=-1/0;return o.forEach((d,p)=>{let m=Lp(e.vectors,r.vectors,p*this.#e,u),h=Math.min(a,Math.max(i,s+Ep(d,m)));c+=h,l=Math.min(l,h),f=Math.max(f,h)}),{log:c/o.length,spread:(f-l)/2}}locate(e,{usualError:r,without:o}){let{powers:n,options:s,components:i}=this.factors,a=new Float32Array(n.length*this.#e),u=x=>this.placeOf(x).component,c=Up(e.map(({node:x})=>u(x)).filter(x=>x!==fe)),l=e.filter(({node:x})=>u(x)===c);if(c===void 0)return{vectors:a,component:fe,error:r};let f=[...i.keys()].filter(x=>i[x]===c&&!o.has(x)),d=to(f,2048).map(x=>({node:x,place:this.placeOf(x)})),p=l.map(({node:x,log:A})=>({place:this.placeOf(x),log:A})),{nodes:m,error:h}=zp(d,p,{estimate:(x,A)=>this.estimate(x,A)?.log??NaN,usualError:r}),g=s.regularisation*5,_=new ro({...s,regularisation:g});return n.forEach((x,A)=>{let M=this.#r(m,A),T=M;for(let $=0;$<eb;$++)this.#t(_,l,A,T),T=_.solve(M);a.set(T,A*this.#e)}),{vectors:a,component:c,error:Bp(h,r)}}typicalPlace(e){let{powers:r,components:o}=this.factors,n=new Float32Array(r.length*this.#e),s=Up(o.filter(f=>f>fe));if(s===void 0)return{vectors:n,component:fe,error:e};let i=to([...o.keys()].filter(f=>o[f]===s),2048),a=i.map(f=>({node:f,weight:1/i.length}));r.forEach((f,d)=>n.set(this.#r(a,d),d*this.#e));let u=to(i,64).map(f=>this.placeOf(f)),c=(f,d)=>this.estimate(f,d)?.log??NaN,l=u.flatMap(f=>{let d=c(f,{vectors:n,component:s});return u.filter(p=>p!==f).map(p=>Math.abs(c(f,p)-d))}).sort((f,d)=>f-d);return{vectors:n,component:s,error:Bp(l[l.length>>1]??e,e)}}#t(e,r,o,n){let{powers:s,vectors:i,range:a}=this.factors;for(let{node:u,log:c}of r){let l=(u*s.length+o)*this.#e;e.add({value:Vi(s[o],c-a[0]),weight:1},i,l,n)}}#r(e,r){let o=new Float64Array(this.#e),{vectors:n,powers:s}=this.factors;for(let{node:i,weight:a}of e){let u=(i*s.length+r)*this.#e;for(let c=0;c<o.length;c++)o[c]+=a*n[u+c]}return o}};function Bp(t,e){return Math.fround(tb*t*Math.max(1,t/e))}function Up(t){let e=new Map;for(let r of t)e.set(r,(e.get(r)??0)+1);return[...e].sort(([r,o],[n,s])=>s-o||r-n)[0]?.[0]}function rb({logs:t,folds:e,weights:r},o){let n=0,s=0,i=1/0,a=-1/0;for(let u=0;u<t.length;u++)o>>e[u]&1||(n+=r[u]*t[u],s+=r[u],i=Math.min(i,t[u]),a=Math.max(a,t[u]));return s===0?new Float32Array(3):Float32Array.of(n/s,i,a)}var Tt=[0,.5,1],Zp=6,ob=.2;function yn(t){let{numNodes:e,numFolds:r,rank:o}=t;return{vectors:[r+1,e,Tt.length,1+o],nodes:[r+1,2,e],fits:[r+1,Zp]}}function Xi({numNodes:t,numFolds:e,rank:r},o){let n=Tt.length*(1+r);return Array.from({length:e+1},(s,i)=>[{part:"vectors",start:(i*t+o)*n,length:n},{part:"nodes",start:2*i*t+o,length:1},{part:"nodes",start:(2*i+1)*t+o,length:1}]).flat()}var zt=class t{size;fits;#e;constructor(e,r){this.size=e,this.fits=r,y(r.length===e.numFolds+1,`${r.length} factorisations`)}foldOf(e,r){return Yi(e,r,this.size.numFolds)}estimate(e,r,o=this.size.numFolds){let{factorisation:n,errors:s,usualError:i}=this.fits[o],a=f=>typeof f=="number"?n.placeOf(f):f.places[o],u=n.estimate(a(e),a(r));if(!u)return;let c=f=>typeof f=="number"?s[f]:f.places[o].error,l=Math.sqrt(c(e)*c(r))*(u.spread/i+ob);return{rttMs:Math.exp(u.log),error:l}}locate(e,r=new Set){let o=e.map(({node:n,rttMs:s})=>({node:n,log:gn(s)}));return{places:this.fits.map(({factorisation:n,usualError:s})=>n.locate(o,{usualError:s,without:r}))}}get typical(){return this.#e??={places:this.fits.map(({factorisation:e,usualError:r})=>e.typicalPlace(r))}}hasPlace(e,r=this.size.numFolds){return this.fits[r].factorisation.placeOf(e).component!==fe}put(e,{places:r}){r.forEach((o,n)=>{let{factorisation:s,errors:i}=this.fits[n];s.put(e,o),i[e]=o.error})}save(){let e=o=>{let n=new Float32Array(o.reduce((i,a)=>i+a.length,0)),s=0;for(let i of o)n.set(i,s),s+=i.length;return n},r=this.fits.map(({factorisation:o})=>o.factors);return{vectors:e(r.map(({vectors:o})=>o)),nodes:e(this.fits.flatMap(({errors:o},n)=>[r[n].components,o])),fits:e(this.fits.map(({usualError:o},n)=>{let{range:s,options:{knee:i,regularisation:a}}=r[n];return[...s,i,a,o]}))}}static load(e,r){let{numNodes:o,numFolds:n,rank:s}=e;for(let[l,f]of Object.entries(yn(e))){let{length:d}=r[l];y(d===f.reduce((p,m)=>p*m),`${d} ${l} of coordinates of shape ${f}`)}let{vectors:i,nodes:a,fits:u}=r,c=(l,f,d)=>l.subarray(d*f,(d+1)*f);return new t(e,Array.from({length:n+1},(l,f)=>{let d=c(u,Zp,f),[p,m,h]=d.subarray(3);return{factorisation:new At({powers:Tt,options:{rank:s,knee:p,regularisation:m},vectors:c(i,o*Tt.length*(1+s),f),components:c(a,o,2*f),range:d.subarray(0,3)}),errors:c(a,o,2*f+1),usualError:h}}))}};var nb=[{knee:.025,regularisation:.12},{knee:.01,regularisation:.06},{knee:.06,regularisation:.12},{knee:.06,regularisation:.5}],sb=[.5],jp=5,ib=1,ab=5e-4,ub=4;function qp(t,e={}){let{seed:r=0,numFolds:o=4,numSweeps:n=30,maxBytes:s=2**29,settings:i=nb}=e;y(o>=4&&o<=30&&o%2===0,`${o} folds`);let a=ub*Tt.length*(o+1)*t.numNodes,u=Math.max(1,Math.min(e.rank??24,Math.floor(s/a)-1)),c=new wn(t,o),l={rank:u,numSweeps:n,seed:r},f=i.map(cb),d=f.map(m=>fb(c,{...l,...m})),p=Array.from({length:o+1},(m,h)=>{let g=h===o,_=g?2**o-1:1<<lb(h),x=pb(d.map(M=>db(c,M,_)));return{factorisation:At.fit(c,{...l,...f[x],powers:Tt,without:g?0:1<<h}),...mb(c,d[x],_)}});return new zt({numNodes:t.numNodes,numFolds:o,rank:u},p)}function cb({knee:t,regularisation:e}){return{knee:Math.fround(t),regularisation:Math.fround(e)}}function lb(t){return t^1}function fb(t,e){let{start:r,others:o,folds:n,logs:s,numNodes:i,numFolds:a}=t,u=new Float32Array(s.length);for(let c=0;c<a;c+=2){let l=3<<c,f=At.fit(t,{...e,powers:sb,without:l});for(let d=0;d<i;d++){let p=f.placeOf(d);for(let m=r[d];m<r[d+1];m++){if(!Qi(l,n[m]))continue;let h=f.estimate(p,f.placeOf(o[m]));u[m]=h?Math.abs(h.log-s[m]):NaN}}}return u}function Qi(t,e){return(t>>e&1)===1}function db({folds:t},e,r){let o=0,n=0;for(let s=0;s<e.length;s++)!Qi(r,t[s])||Number.isNaN(e[s])||(o+=Math.sqrt(e[s]),n++);return n===0?0:o/n}function pb(t){return t.indexOf(Math.min(...t))}function mb({start:t,folds:e,numNodes:r},o,n){let s=(c,l)=>{let f=o.subarray(c,l).filter((d,p)=>Qi(n,e[c+p])&&!Number.isNaN(d));return{count:f.length,median:f.sort()[f.length>>1]}},i=s(0,o.length).median??ib,a=Math.fround(Math.max(ab,i)),u=Float32Array.from({length:r},(c,l)=>{let{count:f,median:d}=s(t[l],t[l+1]);return(f*(d??0)+jp*a)/(f+jp)});return{usualError:a,errors:u}}var P=4294967295,hb=64,$t=class{firstRow;numRows;#e;constructor(e,r){this.firstRow=e,this.numRows=r,this.#e=new Uint32Array(r)}row(e,r,o=!1){let n=r>>>0||1,{numRows:s}=this,i=this.#e,a=(e>>>0)%s;for(let u=0;u<Math.min(hb,s);u++){if(i[a]===n)return this.firstRow+a;if(i[a]===0)return o?(i[a]=n,this.firstRow+a):P;a=a+1===s?0:a+1}return P}get numOwned(){return this.#e.reduce((e,r)=>r===0?e:e+1,0)}save(e){gb(this.#e,e.subarray(2*this.firstRow))}load(e){y(e.length>=2*(this.firstRow+this.numRows),`${e.length} numbers of keys`),wb(e.subarray(2*this.firstRow),this.#e)}};function gb(t,e=new Float32Array(2*t.length)){for(let r=0;r<t.length;r++)e[2*r]=t[r]>>>16,e[2*r+1]=t[r]&65535;return e}function wb(t,e=new Uint32Array(t.length/2)){for(let r=0;r<e.length;r++)e[r]=t[2*r]*2**16+t[2*r+1];return e}function Fp(t,e){let r=Te(t+e),o=Te(r^Hp);return{hash1:r,hash2:o,length:e,row:P,isDropped:!1,numBytes:0,isWhole:!1}}var Hp=2654435769;function bn(t,e){t.hash1=Te(t.hash1*257+e+1),t.hash2=Te(Math.imul(t.hash2,65599)+e+1),t.isWhole=++t.numBytes===t.length}function Kp(t,e,r=0){let o=(n,s)=>Te(n+s^Math.imul(n,s)^Math.imul(r,Hp));return{hash1:o(t.hash1,e.hash1),hash2:o(t.hash2,e.hash2)}}function vn(t,e,r){return r>0&&Te(t^e)<r*2**32}var oo="coordinates.keys";function no(t){return`coordinates.${t}`}function Gp(t){let e=Object.entries(yn(nr(t))).map(([r,o])=>{let n=o[o.length-1];return[no(r),[o.reduce((s,i)=>s*i)/n,n]]});return new Map([[oo,[t.nodes,2]],...e])}function nr({nodes:t,folds:e,rank:r}){return{numNodes:t,numFolds:e,rank:r}}var Sn=class{config;#e;#t;constructor(e){this.config=e,this.#e=new $t(0,e.nodes)}load(e){this.#e.load(D(e,oo));let r=Object.keys(yn(nr(this.config))),o=Object.fromEntries(r.map(n=>[n,D(e,no(n))]));this.#t=zt.load(nr(this.config),o)}save(e){let r=new Float32Array(2*this.config.nodes);this.#e.save(r),e.set(oo,r);for(let[o,n]of Object.entries(this.#t?.save()??{}))e.set(no(o),n)}get numNodes(){return this.#e.numOwned}node(e,r,o=!1){return this.#e.row(e,r,o)}fit(e){let{nodes:r,rank:o,folds:n}=this.config,s={rank:o,numFolds:n,maxBytes:1/0};this.#t=qp({numNodes:r,...e},s)}hasPlace(e){return e!==P&&(this.#t?.hasPlace(e)??!1)}locate(e,r){let o=e.filter(({node:n})=>this.hasPlace(n)&&!r.has(n));return o.length===0?void 0:this.#t?.locate(o,r)}put(e){if(!(!this.#t||e.size===0)){this.#t=zt.load(this.#t.size,this.#t.save());for(let[r,o]of e)this.#t.put(r,o)}}estimate(e,r,o={}){let{isTraining:n=!1,hidden:s=[]}=o,i=this.#t;if(!i||e===r&&e!==P)return;let a=n&&e!==P&&r!==P?i.foldOf(e,r):this.config.folds,[u,c]=[e,r].map((f,d)=>f!==P&&!s[d]&&i.hasPlace(f,a)?f:i.typical),l=i.estimate(u,c,a);return l&&{...l,isOfBoth:typeof u=="number"&&typeof c=="number"}}};var yb=0,bb=256,vb=512,Sb=768,ea=772,kb=0,Eb=ea,Ab=2*ea,Vp=3*ea,Yp=Vp+48,Jp=Yp+26,Wp=2**-10,Xp=22,Qp=Jp+Xp;function em(t){return rm(t,e=>[yb+(e>>8),bb+(e&255)])}function tm(t,e){return rm(t,r=>{let o=(r>>8)-e;return o===0?[vb+(r&255)]:[Sb+(o>0?2:0)+(Math.abs(o)>1?1:0)]})}function rm(t,e){if("rttMs"in t){let i=Math.log2(Math.max(t.error,Wp)/Wp),a=Math.min(Xp-1,Math.floor(2*i));return[...e(Ce(t.rttMs)).map(u=>Ab+u),Jp+a]}let{typicalCode:r,newestCode:o,spread:n,age:s}=t;return[...e(r).map(i=>kb+i),...e(o).map(i=>Eb+i),Vp+n,Yp+s]}var Tb={v1:266,v2:267},so=t=>R().min(1).max(t),om=2**36,nm=kt({rows:R().min(16).max(2**24),seed:R().min(0).max(2**31-1).default(0),dropShare:v().min(0).max(.95).default(.1)}),zb=kt({...nm.shape,history:dt().default(!0)}),$b=kt({nodes:R().min(16).max(2**24),rank:R().min(1).max(64).default(24),folds:R().min(4).max(30).multipleOf(2).default(4),dropShare:v().min(0).max(.95).default(.2)}),Ob=kt({numLayers:so(1024),width:so(65536),numHeads:so(1024),headDim:Bd([32,64,128]),mlpWidth:so(262144),sequenceLength:so(65535),vocabulary:He(["v1","v2"]).default("v2"),rttEncoding:He(mp).nullable().default(null),rttClipMs:v().min(.001).max(1e9).default(1e3),activation:He(["relu2","gelu","silu"]).default("relu2"),softcap:v().min(.001).max(1e6).nullable().default(15),qkNorm:dt().default(!0),keyShift:dt().default(!1),byteVectors:He(["random","ordinal"]).default("random"),prefixVectors:nm.nullable().default(null),pairVectors:zb.nullable().default(null),coordinates:$b.nullable().default(null)});function kn(t){let e=pp(Ob,t,"model");return Pb(e),e}function Pb(t){for(let r of["width","mlpWidth"])if(t[r]%4!==0)throw new Ke(`model.${r}`,`found ${t[r]}, a multiple of 4 was wanted`);for(let r of["prefixVectors","pairVectors","coordinates"])if(t[r]&&t.vocabulary!=="v2")throw new Ke(`model.${r}`,`vocabulary ${t.vocabulary} has none, v2 or null was wanted`);if(t.rttEncoding!==null&&t.vocabulary!=="v1")throw new Ke("model.rttEncoding","vocabulary v2 has one of its own, v1 or null was wanted");let e=Mb(t);if(e>om)throw new Ke("model",`found ${e} parameters, at most ${om} were wanted`)}function En({vocabulary:t,rttEncoding:e,rttClipMs:r}){return t==="v1"?{name:e??"float64",clipMs:r}:void 0}function be(t){let{prefixVectors:e,pairVectors:r}=t;return(e?.rows??0)+(r?.rows??0)+Rb(t)}function Rb({pairVectors:t,coordinates:e}){return t?.history||e?Qp:0}function F(t){return Tb[t.vocabulary]}function An(t){let{width:e,mlpWidth:r}=t,o=t.numHeads*t.headDim,n=F(t),s=new Map([["wte.weight",[n,e]]]),i=be(t);i>0&&s.set("wpe.weight",[i,e]);for(let a=0;a<t.numLayers;a++){let u=`blocks.${a}`;s.set(`${u}.attn.q_proj.weight`,[o,e]),s.set(`${u}.attn.k_proj.weight`,[o,e]),s.set(`${u}.attn.v_proj.weight`,[o,e]),s.set(`${u}.attn.o_proj.weight`,[e,o]),s.set(`${u}.mlp.up_proj.weight`,[r,e]),s.set(`${u}.mlp.down_proj.weight`,[e,r])}return s.set("lm_head.weight",[n,e]),s}function Tn(t){let e=An(t),{prefixVectors:r,pairVectors:o}=t,n=(r?.rows??0)+(o?.rows??0);n>0&&e.set(ze,[n,2]),o?.history&&e.set(sr,[o.rows,ht]);let s=t.coordinates?Gp(t.coordinates):[];return new Map([...e,...s])}var ze="wpe.keys",sr="wpe.history";function Mb(t){let e=0;for(let r of An(t).values())e+=r[0]*r[1];return e}var sm=["MeasurementStart","SrcIpStart","DestIpStart","Ipv4Start","Ipv6Start","RttStart","SizeStart","ErrorCountStart","TimestampStart","MsmIdStart"];var Ib=37;function im(t){return Ib+t.source.length+t.destination.length}function ir({source:t,destination:e,timeS:r}){return 14+(r===null?0:9)+t.length+e.length}var am={v1:{byteBase:10,roleNames:sm,opens:t=>t<10&&t!==3&&t!==4,fieldOf(t){return t===1?"source":t===2?"destination":t===5?"result":"time"}},v2:{byteBase:11,roleNames:pn,opens:t=>t<11,fieldOf(t){return t===1||t===2?"source":t===3||t===4?"destination":t===8||t===10?"result":"time"}}};var um=2**32;var Ot=class{out;rttEncoding;at;#e;constructor(e,r){this.out=e,this.rttEncoding=r,this.at=0,this.#e=new DataView(new ArrayBuffer(8))}writeFields(e,r){let{source:o,destination:n,timeS:s}=e,i=e.rttMs===null?null:Math.min(Math.fround(e.rttMs),this.rttEncoding.maxRttMs),a={sizeBytes:0,packetErrorCount:0,msmId:0},u=r.map(c=>c==="result"?"rtt":c);return this.write({source:o,destination:n,rttMs:i,timeS:s??0,...a},s===null?u.filter(c=>c!=="time"):u,ir(e))}write(e,r,o=im(e)){let n=this.at;if(n+o>this.out.length)throw new RangeError(`Cannot write a measurement of ${o} tokens: found room for ${this.out.length-n}`);try{this.out[this.at++]=0;for(let s of r)this.#t(s,e)}catch(s){throw this.at=n,s}return this.at-n!==o&&y(!1,`the order ${r} gave ${this.at-n} of ${o} tokens`),o}#t(e,r){switch(e){case"source":return this.#r(1,r.source);case"destination":return this.#r(2,r.destination);case"rtt":return this.rttEncoding.encode(r.rttMs,this.#e),this.#n(5,8);case"size":return ra("packet size",r.sizeBytes,0,65535),this.#e.setUint16(0,r.sizeBytes),this.#n(6,2);case"errorCount":return ra("error count",r.packetErrorCount,0,255),this.#e.setUint8(0,r.packetErrorCount),this.#n(7,1);case"time":return this.#o(8,"time",r.timeS);case"msmId":return this.#o(9,"measurement id",r.msmId)}}#r(e,r){if(r.length!==4&&r.length!==16)throw new RangeError(`Cannot write an address: found ${r.length} bytes, 4 or 16 were wanted`);this.out[this.at++]=e,this.out[this.at++]=r.length===4?3:4;for(let o=0;o<r.length;o++)this.out[this.at++]=10+r[o]}#o(e,r,o){ra(r,o,Number.MIN_SAFE_INTEGER,Number.MAX_SAFE_INTEGER);let n=Math.floor(o/um);this.#e.setInt32(0,n),this.#e.setUint32(4,o-n*um),this.#n(e,8)}#n(e,r){this.out[this.at++]=e;for(let o=0;o<r;o++)this.out[this.at++]=10+this.#e.getUint8(o)}};function ra(t,e,r,o){if(!(Number.isInteger(e)&&e>=r&&e<=o))throw new RangeError(`Cannot write the ${t} ${e}: an integer in ${r}..${o} was wanted`)}var U4=2**32,Z4={[1]:"source",[2]:"destination",[5]:"rtt",[6]:"size",[7]:"errorCount",[8]:"time",[9]:"msmId"};var cm=2**32-1;function $e(t,e){let{source:r,destination:o,timeS:n,context:s}=t;return rt({source:r,destination:o,rttCode:null,timeS:n},{context:s,order:Be,sequenceLength:e}).subarray(0,-1)}function rt(t,e){let{context:r,order:o,sequenceLength:n}=e,{source:s,destination:i}=t;if(s.length!==i.length)throw new b(`Cannot ask for an RTT from IPv${s.length===4?4:6} to IPv${i.length===4?4:6}: two addresses of one version were wanted`);let a=new Uint16Array(n+1),u=new Ue(a),c=Pt({...t,context:r},n);ua(c,t.timeS);for(let l of c)u.write(l,Be);return u.write(t,o),a.subarray(0,u.at)}function ua(t,e){let r=null;for(let{timeS:o}of[...t,{timeS:e}]){if(e!==null&&o!==null&&o>e)throw new b(`Cannot ask about Unix time ${e}: found a measurement of ${o} in its context, none after it was wanted`);if(r!==null&&o!==null&&o-r>cm)throw new b(`Cannot ask about times ${o-r} s apart: at most ${cm} s between two measurements were wanted`);r=o??r}}function Pt(t,e){let{source:r,destination:o,timeS:n,context:s}=t,i={source:r,destination:o,rttCode:null,timeS:n},a=e-1,u=Math.max(0,s.length-Math.ceil(a/11));for(let c=u;c<=s.length;c++){let l=null,f=0;for(let d of[...s.slice(c),i])f+=mt(d,l),l=d.timeS??l;if(f<=a)return s.slice(c)}throw new b(`Cannot ask: a measurement does not fit the model's sequence of ${e} tokens; use a model with longer sequences`)}function ue(t,e,r=267){return t.subarray(e*r,(e+1)*r)}var ur=-1;function On(t,e){let r=Float64Array.from(e,(s,i)=>s===ur?ur:t[i]*65536+s),o=Float64Array.from(new Set(r.filter(s=>s>=0))).sort(),n=new Map(Array.from(o,(s,i)=>[s,i]));return{tokens:Uint16Array.from(o,s=>s%2**16),parents:Uint32Array.from(o,s=>Math.floor(s/2**16)),rows:Uint32Array.from(r,s=>n.get(s)??0)}}function Rt({first:t,last:e}){return Array.from({length:e-t+1},(r,o)=>11+t+o)}function Pn(t,{first:e,last:r}){let o=0;for(let n=e;n<=r;n++)o+=Math.exp(t[11+n]);return o}function Rn(t,{tokens:e,random:r,temperature:o=1}){let n=-1/0;for(let a of e)n=Math.max(n,t[a]);let s=e.map(a=>Math.exp((t[a]-n)/o)),i=r.float64()*s.reduce((a,u)=>a+u,0);for(let a=0;a<s.length;a++)if(i-=s[a],i<0)return e[a];return e[s.indexOf(1)]}async function*Mn(t,e,{count:r,begin:o}){let{maxRows:n}=t.continuationExtent;for(let s=0;s<r;s+=n){let i=Array.from({length:Math.min(n,r-s)},(a,u)=>o(s+u));await t.continuePrompts([e],async(a,u)=>{a.fork([i.length]);for(let c of i)c.draw(u);for(;i.some(c=>!c.isComplete);){let c=await a.step(i.map(l=>l.lastToken));i.forEach((l,f)=>l.draw(ue(c,f)))}}),yield*i}}function co(t,e){let r=0,o=t;for(;r<o;){let n=Math.floor((r+o)/2);e(n)?o=n:r=n+1}return r}var Mt=Float64Array.from(se,tn),dm=6e4,lm=Mt.findIndex(t=>t>dm),Bb=.01,gt=class{pFailed;probabilities;canonicalMass;spreadMass;#e;constructor(e,r,o,n=0){this.pFailed=e,this.probabilities=r,this.canonicalMass=o,this.spreadMass=n,y(r.length===se.length,"one probability per canonical code"),this.#e=new Float64Array(r.length);let s=0;for(let i=0;i<r.length;i++)this.#e[i]=s+=r[i]}get meanMs(){let e=this.withinPingLimit;if(e===0)return dm;let r=0;for(let o=0;o<lm;o++)r+=this.probabilities[o]*Mt[o];return r/e}get withinPingLimit(){return this.#e[lm-1]}probabilityOf(e){return this.probabilities[this.indexOf(e)]}cdf(e){return this.#e[this.indexOf(e)]}indexOf(e){return fm(se,Ce(e))}quantileMs(e){if(!(e>=0&&e<=1))throw new RangeError(`Cannot take quantile ${e}: 0 to 1 was wanted`);return this.#t(e*this.#e[this.#e.length-1])}likeliest(){let e=0,r=0,o=0,n=0;for(let i=0;i<Mt.length;i++){for(n+=this.probabilities[i];Mt[i]>Mt[o]*(1+Bb);)n-=this.probabilities[o++];n>e&&(e=n,r=o)}let s=r===0?0:this.#e[r-1];return{rttMs:this.#t(s+e/2),probability:e}}histogram(e){let r=Math.log(this.quantileMs(.005)*.999),o=Math.log(this.quantileMs(.995)*1.001),n=i=>Math.exp(r+(o-r)*i/e),s=Array.from({length:e},(i,a)=>({lowMs:n(a),highMs:n(a+1),probability:0}));for(let i=0;i<this.probabilities.length;i++)this.probabilities[i]>0&&Ub(s,se[i],this.probabilities[i]);return s}#t(e){return Mt[Math.min(fm(this.#e,e),Mt.length-1)]}};function Ub(t,e,r){let o=rn(e);if(o.highMs<=t[0].lowMs||o.lowMs>=t[t.length-1].highMs)return;let n=o.highMs-o.lowMs,s=Math.log(t[0].highMs/t[0].lowMs),i=Math.floor(Math.log(Math.max(o.lowMs,t[0].lowMs)/t[0].lowMs)/s);for(let a=Math.max(0,i-1);a<t.length&&t[a].lowMs<o.highMs;a++){let u=Math.min(o.highMs,t[a].highMs)-Math.max(o.lowMs,t[a].lowMs);u>0&&(t[a].probability+=r*u/n)}}function fm(t,e){return co(t.length,r=>t[r]>=e)}var Y=[...new Set([...se].map(t=>t>>8))],Zb=Y.map(t=>11+t),pm=[8,10],In=Array.from({length:256},(t,e)=>[...se].filter(r=>r>>8===e).map(r=>r&255));function lr(t){return In[t]}function mm(t){let{outcome:e,first:r,seconds:o,expanded:n}=t,s=new Float64Array(se.length),i=ot(r,Y),a=0,u=0,c=0,l=0;return Y.forEach((f,d)=>{let p=i.probabilities[d],m=In[f].length;if(n[l]===d){let h=ot(ue(o,l++),In[f]);a+=p*i.mass*h.mass;for(let g of h.probabilities)s[c++]=p*g}else a+=p*i.mass,u+=p,s.fill(p/m,c,c+=m)}),new gt(ca(e),s,a,u)}function ca(t){return 1/(1+Math.exp(t[8]-t[10]))}function hm(t,{outcome:e,first:r,second:o}){if(t===null)return cr(e,10,pm);let[n,s]=[t>>8,t&255];return cr(e,8,pm)+cr(r,11+n,Zb)+cr(o,11+s,In[n].map(i=>11+i))}function cr(t,e,r){let o=-1/0;for(let s of r)o=Math.max(o,t[s]);let n=0;for(let s of r)n+=Math.exp(t[s]-o);return t[e]-o-Math.log(n)}function gm(t,{maxSpreadMass:e,code:r}){let{probabilities:o}=ot(t,Y),s=Y.keys().toArray().toSorted((u,c)=>o[c]-o[u]),i=new Set(r===null?[]:[Y.indexOf(r>>8)]),a=1;for(let u of s){if(a<=e)break;i.add(u),a-=o[u]}return[...i].sort((u,c)=>u-c)}function ot(t,e){let r=new Float64Array(e.length),o=0;for(let n=0;n<e.length;n++)o+=r[n]=Math.exp(t[11+e[n]]);for(let n=0;n<e.length;n++)r[n]/=o;return{mass:o,probabilities:r}}var wm=Rt({first:0,last:255}),jb=[Rt({first:0,last:0}),Rt({first:0,last:31})],qb=Rt({first:1,last:255}),Fb=Y.map(t=>11+t),Hb=new Map(Y.map(t=>[t,lr(t).map(e=>11+e)])),_m=[{field:"source",token:1,numBytes:4},{field:"source",token:2,numBytes:16},{field:"destination",token:3,numBytes:4},{field:"destination",token:4,numBytes:16},{field:"result",token:8,numBytes:2},{field:"result",token:10,numBytes:0},{field:"time",token:5,numBytes:8},{field:"time",token:6,numBytes:1},{field:"time",token:7,numBytes:4}],fr=class{#e=new Set(["source","destination","result","time"]);#t;#r=0;#o=0;#n=[];#s=0;#i=!1;constructor(e){this.#t=e}get isComplete(){return this.#i||this.#e.size===0&&this.#s===0}allowed(){return this.isComplete?[]:this.#s>0?this.#u():this.#a()}push(e){if(this.#s>0){this.#s--,this.#n.push(e-11);return}if(e===0){this.#i=!0;return}let r=_m.find(o=>o.token===e);y(r&&this.#e.delete(r.field),`token ${e}`),this.#o=e,this.#n=[],this.#s=r.numBytes,(r.field==="source"||r.field==="destination")&&(this.#r=r.numBytes)}#a(){let r=_m.filter(({field:n,token:s,numBytes:i})=>this.#e.has(n)?n==="time"?this.#t===(s!==5):n==="result"||this.#r===0||this.#r===i:!1).map(({token:n})=>n);return this.#e.size===1&&this.#e.has("time")?[...r,0]:r}#u(){let e=this.#n;return this.#o===8?e.length===0?Fb:Hb.get(e[0])??[]:this.#o===5?jb[e.length]??wm:this.#o===7&&e.length===2&&e[0]+e[1]===0?qb:wm}};var la=new Set([5,6,7]);function Kb(t){return t?Jr:Jr.filter(e=>e[3]==="time").map(e=>e.slice(0,3))}async function xm(t,e,r={}){let o=e.map(s=>Gb(s,r.order,t.config)),n=await Yb(t,o);return o.map(({orders:s})=>Qb(s.map(i=>Xb(i,n.get(i)??[]))))}function Gb(t,e,r){let o=Vb(t.measurement,e),n=Wb(t,o[0],r),s=n.lastIndexOf(0)+1,{opens:i}=am[r.vocabulary],a=[...n.keys()].filter(c=>c>=s&&i(n[c])),u=new Map(o[0].map((c,l)=>[c,[...n.subarray(a[l],a[l+1])]]));return{prompt:n.subarray(0,s),orders:o.map(c=>{let l=c.map(f=>u.get(f)??[]);return{order:c,lengths:l.map(({length:f})=>f),tokens:Uint16Array.from(l.flat())}})}}function Wb({measurement:t,rttMs:e,context:r},o,n){let s=En(n);if(!s)return rt(t,{context:r,order:o,sequenceLength:n.sequenceLength});y(e!==void 0&&r.length===0,"vocabulary v1 takes RTTs, and no context");let i={...t,rttMs:e},a=new Uint16Array(ir(i));return new Ot(a,cn(s)).writeFields(i,o),a}function Vb({timeS:t},e){return e?[t===null?e.filter(r=>r!=="time"):e]:Kb(t!==null)}async function Yb(t,e){let r=[...Map.groupBy(e,({prompt:s})=>s.join()).values()].map(s=>({prompt:s[0].prompt,orders:s.flatMap(({orders:i})=>i)})),n=(await t.decoders.continuationLogProbabilities(r.map(({prompt:s,orders:i})=>({prompt:s,continuations:i.map(({tokens:a})=>a)})),t.config.vocabulary==="v2"?Jb:void 0)).map(s=>Array.from(s,i=>-i/Math.LN2));return new Map(r.flatMap(({orders:s})=>s).map((s,i)=>[s,n[i]]))}function Jb(t,e){let r=t.some(s=>la.has(s)),o=new fr(e.some(s=>la.has(s))),n=s=>s!==0&&(r||!la.has(s));return Array.from(t,s=>{let i=o.allowed().filter(n);return o.push(s),i})}function Xb({order:t,lengths:e},r){let o=0;return{blocks:t.map((s,i)=>{let a=r.slice(o,o+=e[i]);return{field:s,tokenBits:a,bits:lo(a)}}),bits:lo(r)}}function Qb(t){let e=t.map(({bits:i})=>i),r=lo(e)/e.length,o=Math.sqrt(lo(e.map(i=>(i-r)**2))/e.length),n=Math.min(...e),s=n-Math.log2(lo(e.map(i=>2**(n-i))));return{orders:t,meanBits:r,spreadBits:o,totalBits:s}}function lo(t){return t.reduce((e,r)=>e+r,0)}function ym(t,e){if(e===null)return t;let r=t.length;for(;r>0&&(t[r-1].timeS??e)>e;)r--;return r===t.length?t:t.slice(0,r)}var ev=["time","source","destination","result"];async function bm(t,e,r){let o=tv(e,t.config.sequenceLength),n=await rv(t,o),s=a=>new fa(o,n,{index:a,seed:r.seed}),i=Mn(t.decoders,o.prompt,{count:r.numDraws,begin:s});return ov(e,await Array.fromAsync(i,a=>a.resultOf(e)))}function tv({source:t,destination:e,timeS:r,context:o},n){let s={source:t.bytes,destination:e.bytes,rttCode:null,timeS:r},i=rt(s,{context:o,order:ev,sequenceLength:n}),a=1+t.bytes.length,u=i.length-1-2*a,c=["source","destination"].flatMap((d,p)=>{let m=d==="source"?t:e,h={kind:"role",token:i[u+p*a]},g=[...m.bytes.keys()].map(_=>({kind:"byte",side:d,index:_,range:sn(m,_)}));return[h,...g]}),l=d=>d.kind==="byte"&&d.range.first<d.range.last,f=c.findIndex(l);return{prompt:i.slice(0,u+f),fixed:c.slice(0,f),drawn:c.slice(f,c.findLastIndex(l)+1)}}async function rv(t,{prompt:e,fixed:r}){let[o]=await t.decoders.tokenLogProbabilities([e],r.length),n={source:1,destination:1};return r.forEach((s,i)=>{s.kind==="byte"&&(n[s.side]*=Math.exp(o[i]))}),n}var fa=class{#e={source:new Map,destination:new Map};#t;#r;#o;#n=0;lastToken=0;constructor(e,r,{index:o,seed:n}){this.#t=e,this.#o={...r},this.#r=new je(n,"query/prefix",o)}get isComplete(){return this.#n===this.#t.drawn.length}draw(e){let r=this.#t.drawn[this.#n++];if(r.kind==="role"){this.lastToken=r.token;return}let{side:o,index:n,range:s}=r;s.last-s.first<255&&(this.#o[o]*=Pn(e,s)),this.lastToken=Rn(e,{tokens:Rt(s),random:this.#r}),this.#e[o].set(n,this.lastToken-11)}resultOf({source:e,destination:r}){return{source:this.#s("source",e),destination:this.#s("destination",r),mass:this.#o}}#s(e,{bytes:r}){return r.map((o,n)=>this.#e[e].get(n)??o)}};function ov({source:t,destination:e},r){let o=new Map;for(let{mass:u,...c}of r){let l=`${c.source} ${c.destination}`,f=o.get(l);f?f.count++:o.set(l,{...c,count:1})}let n=r.map(({mass:u})=>u.destination),s=r.length,i=n.reduce((u,c)=>u+c,0)/s,a=n.reduce((u,c)=>u+(c-i)**2,0)/(s-1);return{pairs:[...o.values()],sourceProbability:J(t)?null:r[0].mass.source,destinationProbability:J(e)?null:i,destinationProbabilityError:J(t)||J(e)?0:Math.sqrt(a/s)}}function vm(t){return{distribution:t,numDraws:0,numDistinct:1,pFailedError:0,meanErrorMs:0,cdfError:()=>0,quantileErrorMs:()=>0}}var Nn=class{#e=0;#t=0;#r=new dr;#o=0;#n=new dr;#s=new dr;#i=new dr;#a=new Float64Array(se.length);#u=new Float64Array(se.length);#c=new Float64Array(se.length);add(e,r){let{pFailed:o,probabilities:n}=e,s=Math.max(1-o,Number.EPSILON);this.#e+=r,this.#t++,this.#o+=r*e.canonicalMass,this.#r.add({y:o,w:1,count:r}),this.#n.add({y:s,w:s,count:r});let i=s*e.withinPingLimit;this.#s.add({y:i*e.meanMs,w:i,count:r}),this.#i.add({y:i,w:i,count:r});let a=0;for(let u=0;u<n.length;u++){let c=s*n[u];a+=c,this.#a[u]+=r*c,this.#u[u]+=r*a*a,this.#c[u]+=r*a*s}}mixture(){let e=this.#e;y(e>=2,`${e} draws have no standard error`);let r=this.#n,o=new gt(this.#r.sum/e,this.#a.map(a=>a/r.sum),this.#o/e),n=(a,u,c=r)=>{let l=a.squares-2*u*a.products+u**2*c.squares;return Math.sqrt(Math.max(0,l)*e/(e-1))/c.sum},s=a=>{let u=o.indexOf(a);return n({squares:this.#u[u],products:this.#c[u]},o.cdf(a))},i=this.#r.squares/e-(this.#r.sum/e)**2;return{distribution:o,numDraws:e,numDistinct:this.#t,cdfError:s,pFailedError:Math.sqrt(Math.max(0,i)/(e-1)),meanErrorMs:this.#i.sum===0?0:n(this.#s,this.#s.sum/this.#i.sum,this.#i),quantileErrorMs:a=>{let u=s(o.quantileMs(a));return(o.quantileMs(Math.min(1,a+u))-o.quantileMs(Math.max(0,a-u)))/2}}}},dr=class{sum=0;squares=0;products=0;add({y:e,w:r,count:o}){this.sum+=o*e,this.squares+=o*e*e,this.products+=o*e*r}};var Sm=124,nv=64;async function da(t,e,r={}){let o="source"in e?e:Ci(e),{numDraws:n=nv,seed:s=0,onProgress:i=()=>{}}=r;if(!(Number.isInteger(n)&&n>=2))throw new RangeError(`Cannot draw ${n} addresses: a whole number of at least 2 was wanted`);if(J(o.source)&&J(o.destination)){let{source:l,destination:f}=o,d={...o,source:l.bytes,destination:f.bytes};return Ln(await t.rttDistribution(d))}let{pairs:a,...u}=await bm(t,o,{numDraws:n,seed:s}),c=new Nn;for(let l=0;l<a.length;l+=Sm){let f=a.slice(l,l+Sm),d=f.map(({source:m,destination:h})=>({...o,source:m,destination:h}));(await t.rttDistributions(d)).forEach((m,h)=>c.add(m,f[h].count)),i(l+f.length,a.length)}return{mixture:c.mixture(),...u}}function Ln(t){return{mixture:vm(t),sourceProbability:null,destinationProbability:null,destinationProbabilityError:0}}function km({config:{sequenceLength:t}},e,r){let{source:o,destination:n,timeS:s}=e,i=e.context??ym(r,s),a=e.context?0:r.length-i.length,u={source:o.bytes,destination:n.bytes,timeS:s,context:i},c={...u,context:Pt(u,t)};return $e(c,t),{query:{...e,context:e.context&&c.context},first:c,numContext:i.length,numContextLater:a}}function Em({query:t,numContext:e,numContextLater:r,numContextUsed:o}){let n=[...t.notes];return r>0&&n.push(`${r} context measurements are after the query's time and were left out`),o<e&&n.push(`the newest ${o} of ${e} context measurements were used: more do not fit`),n}async function*Am(t,e,r){let o=iv(e,t.config.sequenceLength),{count:n}=r,s=i=>new pa(o,i,r);for await(let i of Mn(t.decoders,o.tokens,{count:n,begin:s}))yield i.measurement()}function sv(t,e){let{context:r}=t,o=t.source??t.destination??new Uint8Array(16),n=r.findLast(({timeS:i})=>i!==null)?.timeS??null,s=n===null?0:n+256;return Pt({source:o,destination:o,timeS:s,context:r},e)}function iv(t,e){let{source:r,destination:o,timeS:n}=t;if(r&&o&&r.length!==o.length)throw new b("Cannot sample between addresses of different versions: two addresses of one version were wanted");let s=new Uint16Array(e+1),i=new Ue(s),a=sv(t,e);ua(a,n);for(let g of a)i.write(g,Be);let{at:u,previousTimeS:c}=i,l={source:r!==void 0,destination:o!==void 0,time:n!==null},f=r??o??new Uint8Array(4),d={source:r??f,destination:o??f,rttCode:null,timeS:n},p=["source","destination","time"];i.write(d,[...p.filter(g=>l[g]),...p.filter(g=>!l[g]),"result"]);let h=(Number(l.source)+Number(l.destination))*(1+f.length)+Xr(n,c);return{tokens:s.slice(0,u+1+h),start:u,hasEarlierTime:c!==null}}var pa=class{#e;#t;#r;#o;#n;constructor({tokens:e,start:r,hasEarlierTime:o},n,{seed:s,temperature:i=1,topK:a=1/0}){this.#e=[...e],this.#t=new fr(o);for(let u of e.subarray(r+1))this.#t.push(u);this.#r=new je(s,"query/sample",n),this.#o=i,this.#n=a}get isComplete(){return this.#t.isComplete}get lastToken(){return this.#e[this.#e.length-1]}draw(e){if(this.isComplete)return;let r=this.#t.allowed(),o=r.length<=this.#n?r:r.toSorted((s,i)=>e[i]-e[s]).slice(0,this.#n),n=Rn(e,{tokens:o,random:this.#r,temperature:this.#o});this.#t.push(n),n!==0&&this.#e.push(n)}measurement(){let e=Gi(Uint16Array.from(this.#e)).at(-1);return y(e,"a sample has a measurement"),e}};var av=8,uv=4,cv=.5;async function Tm(t){let e=new Map,r={count:av,seed:0,temperature:cv};for await(let{source:o,destination:n}of Am(t,{timeS:null,context:[]},r)){let s={src_addr:Ee(o),dst_addr:Ee(n)};e.set(`${s.src_addr} ${s.dst_addr}`,s)}return[...e.values()].slice(0,uv)}var m1=2**18,h1=2**20,g1=2**21,It={measurements:0,lastS:null};function lv(t,e){return t===0?It:{measurements:t,lastS:e}}function zm(t,e,r){if(!t)return{kind:"network",text:"No table of the training data is at hand: whether these addresses were measured is not known.",src:It,dst:It,pair:It};let{known:o,summary:n}=t,[s,i]=[e,r].map(p=>fv(o,p)),a=J(e)&&J(r),u=a?o.pair(e.bytes,r.bytes):It,c=a?o.pair(r.bytes,e.bytes):It,l=u.measurements+c.measurements>0?"pair":s.measurements>0?i.measurements>0?"addresses":"source":i.measurements>0?"destination":"network",f=(...p)=>` a guess${p.map((m,h)=>`${h===0?" from ":" and "}${dv(o,m)}`).join("")}.`,d=[{pair:u.measurements>0?`Pair ${pr(u)}.`:`Pair ${pr(c)}, in the other direction only.`,addresses:`Source ${pr(s)}, destination ${pr(i)}, the pair never: an estimate from each.`,source:`Source ${pr(s)}, destination never:${f(r)}`,destination:`Destination ${pr(i)}, source never:${f(e)}`,network:`Neither ${a?"address":"place as one address"} is in the training data:${f(e,r)}`}[l]];return o.isTruncated&&l!=="pair"&&d.push("Only the most measured addresses and pairs are listed."),n.isSynthetic&&d.push("The model knows a synthetic Internet, not the real one."),{kind:l,text:d.join(" "),src:s,dst:i,pair:u}}function fv(t,e){let r=J(e)?t.address(e.bytes):void 0;if(!r)return It;let{asSource:o,asDestination:n}=r,s=Math.max(o.lastS??-1/0,n.lastS??-1/0);return lv(o.measurements+n.measurements,s)}function dv(t,e){let r=J(e)?t.prefixAround(e.bytes):{prefix:e,numKnown:t.countIn(e)};if(!r)return`the whole network (nothing is known near ${Ge(e)})`;let{prefix:o,numKnown:n}=r;return`${Ge(o)} (${n} known ${n===1?"address":"addresses"})`}function pr({measurements:t,lastS:e}){return t===0?"never measured":`measured ${t===1?"once":`${t} times`}, last on ${new Date((e??0)*1e3).toISOString().slice(0,10)}`}function $m({kind:t,text:e,src:r,dst:o,pair:n}){return{kind:t,text:e,src:fo(r),dst:fo(o),pair:fo(n)}}function fo({measurements:t,lastS:e}){return{measurements:t,last_seen:pv(e)}}function pv(t){return t===null?null:new Date(t*1e3).toISOString()}var mv=["source","time","result","destination"];function nt({rttMs:t}){if(!t)return[null];let[e,r]=t;if(!(e>=0&&e<=r&&r<1/0))throw new b(`Cannot ask for destinations at an RTT of ${e}..${r} ms: 0 or more, the lesser first, was wanted`);let o=Ce(e),n=Ce(r);return[...se.filter(s=>s>=o&&s<=n)]}function hv(t,e){let{source:r,timeS:o,context:n}=t,s=nt(t),i={source:r,destination:r,rttCode:s[0],timeS:o},a=rt(i,{context:n,order:mv,sequenceLength:e}),u=1+r.length;return a.subarray(0,s.length>1?-u-2:-r.length)}function Om(t,e){let r=t.source.length===4?3:4;return nt(t).length<=1?e.map(()=>[]):e.map(o=>(y(o!==null,"a range of RTTs has codes"),[11+(o>>8),11+(o&255),r]))}async function Pm({config:t,decoders:e},r,o){let n=hv(r,t.sequenceLength);return await e.continuePrompts([n],async(s,i)=>await o({decoder:s,ends:i}))}async function Rm(t,{decoder:e,ends:r}){let o=nt(t).map(Number);if(o.length===1)return Float64Array.of(1);let n=[...new Set(o.map(a=>a>>8))];e.fork([n.length]);let s=await e.step(n.map(a=>11+a)),i=new Map(n.flatMap((a,u)=>{let c=lr(a),l=ot(ue(s,u),c).probabilities;return c.map((f,d)=>[a<<8|f,Math.exp(r[11+a])*l[d]])}));return Float64Array.from(o,a=>i.get(a)??0)}var Cn=256,gv={first:0,last:Cn-1};async function Dn(t,e){let{decoder:r,ends:o,walks:n}=t,s=n.flatMap((c,l)=>c.flatMap(({tree:f,tails:d})=>f.take(e).map(p=>({tree:f,tails:d,prompt:l,at:p})))).map(c=>new ma(c));if(s.length===0)return 0;r.fork(n.map(()=>1));let i=s[0].tails[0].length,a=o,u=Uint32Array.from(s.flatMap(({prompt:c,tails:l})=>l.map(()=>c)));for(let c=0;;c++){let l=c-i,f=0;for(let p of s){let m=u.subarray(f,f+=p.tails.length);l>=0&&p.look(l,Array.from(m,h=>ue(a,h)))}let d=On(u,s.flatMap(p=>p.tokens(c)));if(d.tokens.length===0)return s.length;a=await r.step(d.tokens,d.parents),u=d.rows}}var ma=class{prompt;tails;#e;#t;#r=!1;constructor({tree:e,tails:r,prompt:o,at:n}){this.#e=e,this.tails=r,this.prompt=o,this.#t=n}look(e,r){if(this.#r||this.#t.bytes.length!==e)return;let o=new Float64Array(r.length*Cn);r.forEach((s,i)=>wv(o,i,s));let n=this.#e.expand(this.#t,o);n?this.#t=n:this.#r=!0}tokens(e){return this.tails.map(r=>this.#r?ur:r[e]??11+this.#t.bytes[e-r.length])}};function wv(t,e,r){let o=Pn(r,gv);for(let n=0;n<Cn;n++)t[e*Cn+n]=Math.exp(r[11+n])/o}var Mm=47;var K1=new Uint16Array(9);function Im(t){return t?xv(t):_v}var _v={maxMeasurementTokens:Mm,divide:t=>[t],write({measurements:t},e,r,o){let n=new Ue(e,r);for(let s of t){let i=n.at;n.write(s,s.order),!(!o||s.rttCode===null||!s.recall)&&xp(s.recall,o,e.indexOf(8,i)*dn)}return n.at}};function xv(t){let e=cn(t);return{maxMeasurementTokens:55,divide:({mode:r,measurements:o})=>o.map(n=>({mode:r,measurements:[n],numTokens:ir(n)})),write({measurements:r},o,n){let s=new Ot(o,e);s.at=n;for(let i of r)s.writeFields(i,i.order);return s.at}}}function Oe(t){return t.shape.reduce((e,r)=>e*r,1)}function Ve(t){return Oe(t)*(t.dtype==="f16"?2:4)}function Bn(t,e="f32"){return Math.max(16,Math.ceil(Ve({shape:t,dtype:e})/16)*16)}var yv={};function mr(t,e){return(r,o,n)=>t(e+r,o,n)}function po(t){return ha(t).reduce((e,{sizeBytes:r})=>e+r,0)}function hr(t){return ha(t).reduce((e,{sizeBytes:r})=>Math.max(e,r),0)}function ha(t){let e=[];return t((r,o,n)=>(e.push({label:r,sizeBytes:Bn(o,n)}),yv)),e}function Nt({limits:t}){return Math.min(t.maxBufferSize,t.maxStorageBufferBindingSize)}async function Un(t,e,r){let o=Nt(t.device),n=ha(e).find(({sizeBytes:i})=>i>o);if(n)throw Nm(`${n.label} takes ${st(n.sizeBytes)}`,`${st(o)} a buffer`,r);t.device.pushErrorScope("out-of-memory");let s=e((i,a,u)=>t.tensor(i,a,u));if(await t.device.popErrorScope()){let i=`${r.what} takes ${st(po(e))}`;throw Nm(i,"what the GPU has free",r)}return s}function st(t){return`${Math.ceil(t/2**20).toLocaleString("en")} MiB`}function Nm(t,e,{what:r,remedy:o}){return new b(`Cannot allocate ${r}: ${t}, at most ${e} was wanted; ${o}`)}var ga=256,wa=65535;function te(t){let e=Math.ceil(t/wa);return[Math.ceil(t/e),e]}var Pe=class{registry;label;#e;#t;#r;#o;#n;#s;#i;constructor(e,r){this.registry=e,this.label=r,this.#e=[],this.#t=[],this.#o=0,this.#n=0,this.#r=e.gpu}add(e){y(!this.#i,`program ${this.label} is built already`);let r=this.#a(e);if(this.#e.push({dispatch:e,kernel:r,paramsOffsetBytes:this.#o}),r.interface.params.length>0){let o=r.interface.params.length*4;this.#o+=Math.ceil(o/ga)*ga}return this}mark(e){this.#t.push({label:e,end:this.#e.length})}scratch(e){y(!this.#s,`scratch memory of program ${this.label} is allocated already`),this.#n=Math.max(this.#n,e);let r=()=>this.#r.tensor(`${this.label} scratch`,[this.#n]).buffer,o=()=>this.#s??=r();return{label:"scratch",shape:[e],offsetBytes:0,get buffer(){return o()}}}get dispatches(){return this.#e.map(({dispatch:e})=>e)}choose(e,{overrides:r,grid:o}){y(!this.#i,`program ${this.label} is built already`);let{dispatch:n,paramsOffsetBytes:s}=this.#e[e],i={...n,overrides:r,grid:o};this.#e[e]={dispatch:i,kernel:this.#a(i),paramsOffsetBytes:s}}get length(){return this.#e.length}get bytes(){return this.#e.reduce((e,{dispatch:r})=>e+Lm(r),0)}run(){let e=this.#r.device.createCommandEncoder({label:this.label});this.encode(e),this.#r.device.queue.submit([e.finish()])}runInParts(e){let r=0;for(let{label:o,end:n}of[...this.#t,{label:"",end:this.#e.length}]){let s=this.#r.device.createCommandEncoder({label:`${this.label}: ${o}`});this.encode(s,{start:r,end:n}),e(o,s),this.#r.device.queue.submit([s.finish()]),r=n}}encode(e,{start:r=0,end:o=this.#e.length}={}){let{bindGroups:n}=this.#u(),s=e.beginComputePass({label:this.label});for(let i=r;i<o;i++)bv(s,this.#e[i],n[i]);s.end()}async profile(){let{device:e}=this.#r,r=[];await this.#r.finish();for(let[o,{dispatch:n,kernel:s}]of this.#e.entries()){let i=e.createCommandEncoder();this.encode(i,{start:o,end:o+1});let a=i.finish(),u=await this.#r.timeS(()=>e.queue.submit([a]));r.push({label:n.label??s.name,calls:1,seconds:u,flops:n.flops??0,bytes:Lm(n)})}return this.#r.check(),r}#a(e){let r=this.registry.get(e.kernel,e.overrides,kv(e));return Ev(r,e),r}#u(){if(this.#i)return this.#i;let{device:e}=this.#r,r=new ArrayBuffer(Math.max(ga,this.#o));for(let n of this.#e)Sv(new DataView(r,n.paramsOffsetBytes),n);let o=e.createBuffer({label:`${this.label} params`,size:r.byteLength,usage:GPUBufferUsage.UNIFORM|GPUBufferUsage.COPY_DST});return e.queue.writeBuffer(o,0,r),this.#i={uniforms:o,bindGroups:this.#e.map(n=>vv(e,n,o))},this.#i}};function bv(t,{kernel:e,dispatch:r},o){let[n,s=1,i=1]=r.grid;t.setPipeline(e.pipeline),t.setBindGroup(0,o),t.dispatchWorkgroups(n,s,i)}function vv(t,e,r){let{kernel:o,dispatch:n}=e;return t.createBindGroup({label:n.label??o.name,layout:o.layout,entries:o.interface.bindings.map(({name:s,index:i,access:a})=>{if(a==="uniform"){let c=Math.ceil(o.interface.params.length*4/16)*16;return{binding:i,resource:{buffer:r,offset:e.paramsOffsetBytes,size:c}}}let u=n.bindings[s];return{binding:i,resource:{buffer:u.buffer,offset:u.offsetBytes}}})})}function Lm({bindings:t}){let e=Object.values(t),r=({buffer:o,offsetBytes:n},s)=>e.findIndex(i=>i.buffer===o&&i.offsetBytes===n)===s;return e.filter(r).reduce((o,n)=>o+Ve(n),0)}function Sv(t,{kernel:e,dispatch:r}){e.interface.params.forEach(({name:o,type:n},s)=>{let i=r.params?.[o]??0;n==="f32"?t.setFloat32(s*4,i,!0):n==="u32"?t.setUint32(s*4,i,!0):t.setInt32(s*4,i,!0)})}function kv({bindings:t}){return Object.entries(t).flatMap(([e,{dtype:r}])=>r==="f16"?[e]:[])}function Ev(t,e){let r=t.interface.bindings.filter(({access:o})=>o!=="uniform").map(({name:o})=>o);Cm(t,"binding",r,Object.keys(e.bindings)),Cm(t,"parameter",t.interface.params.map(({name:o})=>o),Object.keys(e.params??{}));for(let o of e.grid)if(o!==void 0&&!(o>=1&&o<=wa&&Number.isInteger(o)))throw new C(t.name,`the grid [${e.grid}] is not of 1 to ${wa} workgroups`)}function Cm(t,e,r,o){let n=r.find(i=>!o.includes(i));if(n)throw new C(t.name,`${e} ${n} is missing`);let s=o.find(i=>!r.includes(i));if(s)throw new C(t.name,`${e} ${s} is unknown; known are ${r.join(", ")}`)}function H(t,e,r){for(let[o,n]of Object.entries(e))if(!(n>0&&n%r===0))throw new C(t,`${o} is ${n}, a positive multiple of ${r} was wanted`)}function S(t,e,r){if(!(e>0&&Number.isInteger(e)))throw new C(t,`${e} elements were asked for, at least one was wanted`);for(let[o,n]of Object.entries(r))if(Oe(n)<e)throw new C(t,`${o} (tensor ${n.label}) has the shape [${n.shape}], ${e} elements were wanted`)}var Av=4;function Lt(t,e){let{tokens:r,table:o,x:n,rows:s,width:i}=e,a="embedding_forward";H(a,{width:i},4),S(a,s,{tokens:r}),S(a,s*i,{x:n}),t.add({kernel:a,bindings:{tokens:r,table:o,x:n},params:{rows:s,width:i},grid:te(s)})}function mo(t,e){return e+1+t}function Zn(t,e,{perRow:r=1,numUses:o=t.length}={}){let n=new Uint32Array(mo(o,e));for(let i=0;i<t.length;i++)t[i]<e&&n[t[i]+1]++;let s=n[0]=e+1;for(let i=0;i<e;i++){let a=n[i+1];n[i+1]=s,s+=a}for(let i=0;i<t.length;i++)t[i]<e&&(n[n[t[i]+1]++]=Math.floor(i/r));return n}function Dm(t,e){let{tokenRows:r,dx:o,dTable:n,rows:s,width:i,vocabSize:a,numUses:u=s}=e,c="embedding_backward";H(c,{width:i},4),S(c,mo(u,a),{tokenRows:r}),S(c,s*i,{dx:o}),S(c,a*i,{dTable:n}),t.add({kernel:c,bindings:{token_rows:r,dx:o,d_table:n},params:{width:i},grid:[a,Math.ceil(i/(4*Av*t.registry.lanes))]})}var re=9,wt=class{config;#e;#t;#r;coordinates;constructor(e){this.config=e;let{prefixVectors:r,pairVectors:o,coordinates:n}=e;n&&(this.coordinates=new Sn(n));let s=r?.rows??0;r&&(this.#e=new $t(0,s)),o&&(this.#t=new $t(s,o.rows),o.history&&(this.#r=new mn(o.rows)))}load(e){this.#e?.load(D(e,ze)),this.#t?.load(D(e,ze)),this.#r?.load(D(e,sr)),this.coordinates?.load(e)}save(e){let r=new Float32Array(2*((this.#e?.numRows??0)+(this.#t?.numRows??0)));this.#e?.save(r),this.#t?.save(r),r.length>0&&e.set(ze,r),this.#r&&e.set(sr,this.#r.save()),this.coordinates?.save(e)}claim(e,r){for(let o of[e,r])this.rowsOfPrefixes(o,{claims:!0});return this.rowOfPair(e,r,{claims:!0})}remember(e,r){this.#t&&e!==P&&this.#r?.add(e-this.#t.firstRow,r)}selectedRow(e){return(this.#e?.numRows??0)+(this.#t?.numRows??0)+e}get numPrefixes(){return this.#e?.numOwned??0}get numPairs(){return this.#t?.numOwned??0}rowsOfPrefixes(e,{claims:r=!1}={}){let o=[];return this.#n(e,({hash1:n,hash2:s})=>{o.push(this.#e?.row(n,s,r)??P)}),o}rowOfAddress(e,{claims:r=!1}={}){let{hash1:o,hash2:n}=this.#n(e);return this.#e?.row(o,n,r)??P}claimNode(e){return this.nodeOf(e,{claims:!0})}nodeOf(e,{claims:r=!1}={}){let{hash1:o,hash2:n}=this.#n(e);return this.coordinates?.node(o,n,r)??P}rowOfPair(e,r,{claims:o=!1}={}){let{hash1:n,hash2:s}=this.#o(this.#n(e),this.#n(r));return this.#t?.row(n,s,o)??P}prefixRow(e,{isTraining:r,context:o}){let{prefixVectors:n}=this.config;if(!this.#e||!n)return P;let s=1-(1-n.dropShare)**(1/e.length);return r&&vn(e.hash2,o,s)&&(e.isDropped=!0),e.isDropped?P:this.#e.row(e.hash1,e.hash2)}pairOf(e,r,{isTraining:o,context:n}){let{hash1:s,hash2:i}=this.#o(e,r),a=this.config.pairVectors?.dropShare??0,[u,c]=[s,i].map(d=>o&&vn(d,n,a)),f=e.isDropped||r.isDropped||u||c?P:this.#t?.row(s,i)??P;return{hash1:s,hash2:i,source:e,destination:r,row:f,isUnknown:u}}recallOf({hash1:e,row:r,isUnknown:o},{recall:n,recent:s},i){if(!this.#t||!this.#r)return;if(n!==void 0)return o?void 0:n??void 0;let{timeS:a}=i,u=s??i.rttsOf(e);return s||r===P?Sp(u,a):this.#r.recall(r-this.#t.firstRow,{timeS:a,newer:u})}estimateOf({hash1:e,source:r,destination:o},{isTraining:n,context:s}){let{coordinates:i}=this;if(!i)return;let a=[r,o],[u,c]=a.map(({hash1:d,hash2:p})=>i.node(d,p));if(!n)return i.estimate(u,c);let l=vn(~e,s,i.config.dropShare),f=a.map(({isDropped:d},p)=>d||l&&(e&1)===p);return i.estimate(u,c,{isTraining:n,hidden:f})}begin(e){return Fp(this.config.prefixVectors?.seed??this.config.pairVectors?.seed??0,e)}#o(e,r){let{prefixVectors:o,pairVectors:n}=this.config,s=o&&n?n.seed-o.seed:0;return Kp(e,r,s)}#n(e,r=()=>{}){let o=this.begin(e.length===4?4:16);for(let n of e)bn(o,n),r(o);return o}};var Tv={isTraining:!1,context:0},zv=3,_t=class t{#e;#t;#r;#o;#n;#s=!1;#i;#a=new hn;constructor(e){this.#e=e}clone(){let e=new t(this.#e);return e.#o=this.#o&&{...this.#o},e.#t=this.#t===this.#o?e.#o:this.#t,e.#r=this.#r===this.#o?e.#o:this.#r,e.#n=this.#n,e.#s=this.#s,e.#i=this.#i,e.#a=this.#a.clone(),e}read(e,r,o,n=Tv){r.fill(P,o,o+re);let s=e>=11&&e<267;if(n.recall===void 0&&this.#a.read(e),s&&this.#s&&(this.#f(r,o),this.#i&&this.#l(r,o,tm(this.#i,e-11))),this.#s=e===8,s){this.#o&&(r[o]=this.#c(this.#o,e-11,n));return}switch(this.#o=void 0,e){case 0:this.#a.end(this.#n?.hash1),this.#t=this.#r=this.#n=void 0;break;case 1:case 2:this.#o=this.#t=this.#u(e===1?4:16);break;case 3:case 4:this.#o=this.#r=this.#u(e===3?4:16);break;case 8:this.#i=this.#n&&(this.#e.recallOf(this.#n,n,this.#a)??this.#e.estimateOf(this.#n,n)),this.#f(r,o),this.#i&&this.#l(r,o,em(this.#i))}}#u(e){return this.#n=void 0,this.#e.begin(e)}#c(e,r,o){bn(e,r);let n=this.#e.prefixRow(e,o);n!==P&&(e.row=n),e.isWhole&&(this.#o=void 0);let[s,i]=[this.#t,this.#r];return s?.isWhole&&i?.isWhole&&(this.#n=this.#e.pairOf(s,i,o)),n}#l(e,r,o){o.forEach((n,s)=>e[r+zv+s]=this.#e.selectedRow(n))}#f(e,r){let[o,n]=[this.#t,this.#r];e[r+2]=this.#n?.row??P,!(e[r+2]!==P||this.#i&&!$v(this.#i))&&(o?.isWhole&&(e[r]=o.row),n?.isWhole&&(e[r+1]=n.row))}};function $v(t){return"isOfBoth"in t&&!t.isOfBoth}function xt(t,{batchSize:e,sequenceLength:r,sequencesPerStep:o=e,freeRows:n}){return n??Math.min(be(t),o*r)}function gr({batchSize:t,sequenceLength:e}){return t*2*e}function ho({tokens:t,segmentStart:e,recalls:r},o,{sequenceLength:n,isTraining:s}){let i=new Uint32Array(t.length*re),a=new _t(o),u=0;for(let c=0;c<t.length;c++){c%n===e[c]&&(a=new _t(o),s&&(u=Ov(t,e,c,n)));let l=r&&t[c]===8?yp(r,c*dn):void 0,f=r||s?l??null:void 0;a.read(t[c],i,c*re,{isTraining:s,context:u,recall:f})}return i}function Ov(t,e,r,o){let n=r-r%o+o,s=0;for(let i=r;i<n&&e[i]===e[r];i++)s=Te(s+t[i]);return s}var jn=class{numSlots;numUses;isFixed;#e;constructor(e,r,o=!1){this.numSlots=e,this.numUses=r,this.isFixed=o,this.#e=new Map,this.clear()}clear(){if(this.#e.clear(),!!this.isFixed)for(let e=0;e<this.numSlots;e++)this.#e.set(e,e)}get rows(){let e=new Uint32Array(1+this.numSlots);e[0]=this.#e.size;for(let[r,o]of this.#e)e[1+o]=r;return e}get size(){return this.#e.size}claim(e){if(!this.isFixed)for(let r of e)r!==P&&!this.#e.has(r)&&this.#e.set(r,this.#e.size)}places(e){this.claim(e);let r=e.map(o=>o===P?P:this.#e.get(o)??P);return Zn(r,this.numSlots,{perRow:re,numUses:this.numUses})}};function Bm(t,e,r){return{tokens:Ct(t.tokens,e,r),targets:Ct(t.targets,e,r),lossMask:Ct(t.lossMask,e,r),segmentStart:Ct(t.segmentStart,e,r),...t.recalls?{recalls:Ct(t.recalls,e,r)}:{}}}function Ct(t,e,{rank:r,size:o}){let n=t.length/e,s=t.slice(0,t.length/o);for(let i=r,a=0;i<e;i+=o,a+=n)s.set(t.subarray(i*n,(i+1)*n),a);return s}function Um({tokens:t,lossMask:e,segmentStart:r},o){let n=e.slice();for(let s=t.indexOf(8);s>=0;s=t.indexOf(8,s+1)){let i=s+1;n[s]&&(n[s]=2),n[i]&&i%o!==r[i]&&(n[i]=3)}return n}var Pv=64*8*4;function Dt(t){return te(Math.ceil(t/Pv))}function Zm(t,e){let{x:r,y:o,length:n}=e,s="copy";H(s,{length:n},4),S(s,n,{x:r,y:o}),t.add({kernel:s,bindings:{x:r,y:o},params:{length:n},grid:Dt(n)})}function jm(t,e){let{x:r,earlier:o,previous:n,y:s}=e,i="shift_keys_forward";Fm(i,e,{x:r,y:s},n),t.add({kernel:i,bindings:{x:r,earlier:o,previous:n,y:s},...Hm(e)})}function qm(t,e){let{dy:r,previous:o,dx:n}=e,s="shift_keys_backward";Fm(s,e,{dy:r,dx:n},o),t.add({kernel:s,bindings:{dy:r,previous:o,dx:n},...Hm(e)})}function qn(t,e){return Uint32Array.from(t,(r,o)=>o%e>r?o-1:o)}function Fm(t,{rows:e,numHeads:r,headDim:o},n,s){H(t,{headDim:o},16),S(t,e,{previous:s}),S(t,e*r*o,n)}function Hm({rows:t,numHeads:e,headDim:r}){let o=e*r/4;return{params:{num_vec4:t*o,row_vec4:o,quarter_vec4:r/16},grid:Dt(t*o*4)}}function Km(t,e,r){let{batchSize:o,sequenceLength:n,training:s,dtype:i,freeRows:a}=e,u=[o,n],c=be(t)>0,l=xt(t,e),f=mo(gr(e),l),d=mo(o*n,F(t));return{tokens:r("tokens",u),targets:r("targets",u),lossMask:r("lossMask",u),segmentStart:r("segmentStart",u),previous:t.keyShift?r("previous",u):void 0,tokenRows:s&&a===void 0?r("token rows",[d]):void 0,addressRows:c?r("rows of tokens",[o,n,re]):void 0,rowPlaces:c&&s?r("tokens of slots",[f]):void 0,slotRows:c&&s?r("rows of slots",[1+l]):void 0,weight:r("weight",[1]),lossScale:s&&i==="f16"?r("loss scale",[2]):void 0}}function Gm(t,e,r){let{extent:o,batch:n,weight:s}=r,i=F(r.config),{batchSize:a,sequenceLength:u}=o,c={...n,lossMask:Um(n,u)};for(let l of["tokens","targets","lossMask","segmentStart"]){let f=new Uint32Array(c[l]);y(f.length===a*u,`${l} has ${f.length} elements`),(l==="tokens"||l==="targets")&&y(f.every(d=>d<i),`${l} has a token that is not below ${i}`),t.write(e[l],f)}if(e.previous&&t.write(e.previous,qn(n.segmentStart,u)),e.tokenRows&&t.write(e.tokenRows,Zn(n.tokens,i)),e.addressRows&&r.rows){let{ofTokens:l,places:f,ofSlots:d}=r.rows;t.write(e.addressRows,l),e.rowPlaces&&f&&t.write(e.rowPlaces,f),e.slotRows&&d&&t.write(e.slotRows,d)}t.write(e.weight,Float32Array.of(s))}function Bt(t){return Math.ceil(F(t)/4)*4}function _a(t,e,r){let o=[],n=(c,l,f)=>{let d=r(c,l,f);return o.push(d),d},s=e.batchSize*e.sequenceLength,i=Rv(t,e,n),a=Ut(t,n),{dtype:u}=e;return{parameters:a,operands:Ym(t,{parameters:a,dtype:u},n),gradients:e.training?Vm(t,e,mr(n,"d ")):new Map,inputs:Km(t,e,n),layers:i,head:{xLast:e.training?n("xLast",[s,t.width]):i[0].x,xLastNorm:n("xLastNorm",[s,t.width],u),xLastScale:n("xLastScale",[s]),logits:n("logits",[s,Bt(t)]),losses:n("losses",[s])},backward:e.training?Mv(t,{rows:s,dtype:u},n):void 0,lossSum:n("lossSum",[1]),all:o}}function xa(t){return new Map([...An(t)].map(([e,[r,o]])=>[e,[e==="lm_head.weight"?Bt(t):r,o]]))}function Ut(t,e){return new Map([...xa(t)].map(([r,o])=>[r,e(r,o)]))}function Vm(t,e,r){let o=()=>["wpe.weight",r("wpe.weight",[xt(t,e),t.width])];return e.freeRows!==void 0?new Map([o()]):new Map([...xa(t)].map(([n,s])=>n==="wpe.weight"?o():[n,r(n,s)]))}function Ym(t,{parameters:e,dtype:r},o){if(r!=="f16")return e;let n=new Map(e);for(let[s,i]of xa(t))s!=="wte.weight"&&s!=="wpe.weight"&&n.set(s,o(`${s} in f16`,i,r));return n}function Rv(t,e,r){let o=e.batchSize*e.sequenceLength,{training:n,dtype:s}=e,i=Wm(t,{rows:o,training:n,dtype:s},mr(r,"layer 0 "));return t.keyShift&&(i.kUnshifted=r("kUnshifted",[o,t.numHeads*t.headDim],s)),Array.from({length:t.numLayers},(a,u)=>{if(u===0||!n)return i;let c=mr(r,`layer ${u} `);return e.checkpointActivations?{...i,x:c("x",[o,t.width])}:{...Wm(t,{rows:o,training:n,dtype:s},c),kUnshifted:i.kUnshifted}})}function Wm(t,e,r){let o=[e.rows,t.numHeads*t.headDim];return{...ya(t,e,r),kRotated:r("kRotated",o,e.dtype),kUnshifted:void 0,v:r("v",o,e.dtype)}}function ya(t,{rows:e,training:r,dtype:o},n){let{width:s,mlpWidth:i,numHeads:a}=t,u=a*t.headDim;return{x:n("x",[e,s]),xNorm:n("xNorm",[e,s],o),xScale:n("xScale",[e]),q:n("q",[e,u],o),k:n("k",[e,u],o),qScale:n("qScale",[e,a]),kScale:n("kScale",[e,a]),qRotated:n("qRotated",[e,u],o),attention:n("attention",[e,u],o),logSumExp:n("logSumExp",[e,a]),xMiddle:n("xMiddle",[e,s]),xMiddleNorm:n("xMiddleNorm",[e,s],o),xMiddleScale:n("xMiddleScale",[e]),hidden:r?n("hidden",[e,i],o):void 0,activated:n("activated",[e,i],o)}}function Mv(t,{rows:e,dtype:r},o){let{width:n,mlpWidth:s,numHeads:i}=t,a=i*t.headDim;return{dLogits:o("dLogits",[e,Bt(t)],r),dx:o("dx",[e,n]),dNorm:o("dNorm",[e,n],r),dHidden:o("dHidden",[e,s],r),dAttention:o("dAttention",[e,a],r),dqRotated:o("dqRotated",[e,a],r),dkRotated:o("dkRotated",[e,a],r),dkUnshifted:t.keyShift?o("dkUnshifted",[e,a],r):void 0,dq:o("dq",[e,a],r),dk:o("dk",[e,a],r),dv:o("dv",[e,a],r),delta:o("delta",[e,i])}}var Jm=[32,64,128],va={subgroup8:1024,tiled:2048};function Xm(t,e){let{q:r,k:o,v:n,segmentStart:s,out:i,logSumExp:a}=e,u=go(t.registry.gpu.info);eh(`attention_forward_${u}`,e,{q:r,k:o,v:n,out:i},{logSumExp:a},s),t.add({kernel:`attention_forward_${u}`,bindings:{q:r,k:o,v:n,segment_start:s,out:i,log_sum_exp:a},...ba(e,u)})}function Qm(t,e){let{q:r,k:o,v:n,out:s,dOut:i,logSumExp:a,segmentStart:u,dq:c,dk:l,dv:f,delta:d}=e,p=go(t.registry.gpu.info);eh(`attention_backward_query_${p}`,e,{q:r,k:o,v:n,out:s,dOut:i,dq:c,dk:l,dv:f},{logSumExp:a,delta:d},u);let m={q:r,k:o,v:n,d_out:i,log_sum_exp:a,segment_start:u,delta:d};t.add({kernel:`attention_backward_query_${p}`,bindings:{...m,out:s,dq:c},...ba(e,p)}),t.add({kernel:`attention_backward_key_${p}`,bindings:{...m,dk:l,dv:f},...ba(e,p)})}function go(t){return t.subgroupSize===8?"subgroup8":"tiled"}function Sa(t,e){if(!Jm.includes(e))throw new C(t,`headDim is ${e}, one of ${Jm.join(", ")} was wanted`)}function ba({batchSize:t,sequenceLength:e,numHeads:r,headDim:o},n){let s={sequence_length:e,num_heads:r};return{overrides:{HEAD_DIM:o},params:n==="subgroup8"?{...s,slot_parts:32}:{...s,slice_parts:8,tile_rows:512/o},grid:[Math.ceil(e*o/va[n]),r,t]}}function eh(t,{batchSize:e,sequenceLength:r,numHeads:o,headDim:n},s,i,a){Sa(t,n);let u=e*r;S(t,u,{segmentStart:a}),S(t,u*o,i),S(t,u*o*n,s)}var wo=8;function th(t){let{learningRate:e,beta1:r,beta2:o,epsilon:n,weightDecay:s,step:i}=t;return Float32Array.of(e,r,o,n,s,1-r**i,1-o**i,0)}function rh(t,e){let{parameter:r,gradient:o,expAvg:n,expAvgSq:s,hyper:i,clip:a,length:u}=e,c="adamw";H(c,{length:u},4),S(c,u,{parameter:r,gradient:o,expAvg:n,expAvgSq:s}),S(c,wo,{hyper:i}),S(c,1,{clip:a}),t.add({kernel:c,bindings:{gradient:o,hyper:i,clip:a,parameter:r,exp_avg:n,exp_avg_sq:s},params:{length:u},grid:Dt(u)})}function oh(t,e){let{indexes:r,table:o,x:n,rows:s,rowsPerToken:i,tableRows:a,width:u}=e,c="add_rows";H(c,{width:u},4),S(c,s*i,{indexes:r}),S(c,a*u,{table:o}),S(c,s*u,{x:n}),t.add({kernel:c,overrides:{ROWS_PER_TOKEN:i},bindings:{indexes:r,table:o,x:n},params:{rows:s,width:u,table_rows:a},grid:te(s)})}function nh(t,e){let{slotRows:r,gradient:o,parameter:n,expAvg:s,expAvgSq:i,numUpdates:a,hyper:u,clip:c,slots:l,width:f}=e,d="adamw_rows";H(d,{width:f},4),S(d,1+l,{slotRows:r}),S(d,l*f,{gradient:o}),S(d,a.shape[0]*f,{parameter:n,expAvg:s,expAvgSq:i}),S(d,wo,{hyper:u}),S(d,1,{clip:c}),t.add({kernel:d,bindings:{slot_rows:r,gradient:o,hyper:u,clip:c,parameter:n,exp_avg:s,exp_avg_sq:i,num_updates:a},params:{width:f,slots:l},grid:te(l)})}function sh(t,e){let{table:r,anchors:o,limits:n,rows:s,width:i}=e,a="limit_rows";H(a,{width:i},4),S(a,s*i,{table:r,anchors:o}),S(a,s,{limits:n}),t.add({kernel:a,bindings:{anchors:o,limits:n,table:r},params:{rows:s,width:i},grid:te(s)})}var Iv={relu2:0,gelu:1,silu:2},ah={kernel:"gemm_subgroup8",overrides:{},tile:32},Fn={kernel:"gemm_tiled",overrides:{TILE:64},tile:64},uh={kernel:"gemm_tiled",overrides:{TILE:128},tile:128},Nv=256,ih=16,ch=0;function Lv(t){return[...t.subgroupSize===8?[ah]:[],Fn,uh]}function ka(t,e){return t.subgroupSize===8?ah:!t.isSoftware&&e.m*e.n>=Nv*128*128?uh:Fn}function Cv(t,e){let r=ka(t,e),o=Lv(t).filter(n=>n!==r&&n.kernel===r.kernel);return[r,...o]}var Dv={enoughWorkgroups:256,minSplitK:512,maxSplits:16};function Bv(t,e){let{kernel:r}=ka(t,e);return t.isSoftware||r!=="gemm_tiled"||e.kind!=="TN"?1:Uv(e)}function Uv({m:t,n:e,k:r},{enoughWorkgroups:o,minSplitK:n,maxSplits:s}=Dv){let i=Math.ceil(t/Fn.tile)*Math.ceil(e/Fn.tile);return Math.max(1,Math.min(Math.floor(o/i),Math.floor(r/n),s))}function _o(t,e){let{kind:r,m:o,n,k:s,batch:i=1,a,b:u,c,epilogue:l="store",symmetric:f=!1}=e,{info:d}=t.registry.gpu,p=f?[ka(d,e)]:Cv(d,e),m=e.variant?[e.variant]:p,{kernel:h}=m[0];if(H(h,r==="TN"?{m:o,n}:{n,k:s},4),f&&o!==n)throw new C(h,`a product of ${o} x ${n} cannot be symmetric`);S(h,i*o*s,{a}),S(h,i*s*n,{b:u}),S(h,i*o*n,{c});let{code:g,read:_,written:x,activation:A}=jv(l);for(let de of[_,x])if(de&&(S(h,i*o*n,{[de.label]:de}),de.buffer===c.buffer))throw new C(h,`${de.label} is in the buffer of c; to add to c use "accumulate"`);let M=typeof l=="string"&&i===1,T=e.splits??(M&&!e.variant?Bv(d,e):1),$=Math.ceil(s/T/ih)*ih;if(T>1&&!(M&&h==="gemm_tiled"&&$*(T-1)<s))throw new C(h,`it cannot divide k into ${T} splits here`);let I=T>1?t.scratch(T*o*n):c,Z=e.label??`gemm ${r}`,oe=Zv(m,{kind:r,m:o,n,depth:i*T,activation:A}),[{overrides:Se,grid:bt}]=oe,K=[a,u,c].map(de=>Ve(de)/Oe(de)),Fe=`${r} ${o} x ${n} x ${s}, batch ${i}, splits ${T}, of ${K} bytes`;t.add({kernel:h,label:Z,overrides:Se,bindings:{a,b:u,d:_??{...a,dtype:c.dtype},c:I,e:x??{...t.registry.unusedOutput,dtype:c.dtype}},params:{m:o,n,k:s,epilogue:T>1?ch:g,stride_a:o*s/4,stride_b:s*n/4,stride_c:o*n/4,symmetric:Number(f),...h==="gemm_tiled"?{splits:T,split_k:$}:{}},grid:bt,flops:i*(f?o+1:2*o)*n*s,...oe.length>1?{tuning:{key:Fe,launches:oe}}:{}}),T!==1&&t.add({kernel:"sum_splits",label:`${Z}, sum of splits`,bindings:{partials:I,c},params:{length:o*n,splits:T,accumulate:+(l==="accumulate")},grid:Dt(o*n)})}function Zv(t,e){let{kind:r,m:o,n,depth:s,activation:i}=e;return t.map(({overrides:a,tile:u})=>({name:`tile ${u}`,overrides:{...a,TRANSPOSE_A:+(r==="TN"),TRANSPOSE_B:+(r==="NT"),ACTIVATION:i},grid:[Math.ceil(n/u),Math.ceil(o/u),s]}))}function jv(t){if(t==="store")return{code:ch,activation:0};if(t==="accumulate")return{code:1,activation:0};if("add"in t)return{code:2,read:t.add,activation:0};if("gram"in t)return{code:6,read:t.gram,activation:0};let e=Iv[t.activation];return"slopeAt"in t?{code:5,read:t.slopeAt,activation:e}:t.before?{code:4,written:t.before,activation:e}:{code:3,activation:e}}var qv=64,Fv=1e4,lh=new WeakMap;function Ea(t,e){let{x:r,y:o,scale:n,rotation:s=Hn(t,e)}=e,i="qk_norm_rope_forward";fh(i,e,{x:r,y:o},n),S(i,e.sequenceLength*e.headDim,{rotation:s}),t.add({kernel:i,bindings:{x:r,rotation:s,y:o,scale:n},...dh(e)})}function Aa(t,e){let{x:r,scale:o,dy:n,dx:s}=e,i="qk_norm_rope_backward";fh(i,e,{x:r,dy:n,dx:s},o);let a=Hn(t,e);t.add({kernel:i,bindings:{x:r,scale:o,rotation:a,dy:n,dx:s},...dh(e)})}function fh(t,{rows:e,numHeads:r,headDim:o,sequenceLength:n},s,i){H(t,{headDim:o},8),H(t,{sequenceLength:n},1),S(t,e*r,{scale:i}),S(t,e*r*o,s)}function dh({rows:t,numHeads:e,headDim:r,sequenceLength:o,norm:n}){return{overrides:{NORM:Number(n)},params:{num_heads_total:t*e,num_heads:e,head_dim:r,sequence_length:o},grid:te(Math.ceil(t*e/qv))}}function Hn(t,{headDim:e,sequenceLength:r}){let{registry:o}=t,n=lh.get(o)??new Map;lh.set(o,n);let s=`${r} x ${e}`,i=n.get(s);if(!i){let a=Hv(r,e);i=o.gpu.tensorFrom(`rotations ${s}`,[r,e/8,2,4],a),n.set(s,i)}return i}function Hv(t,e){let r=new Float32Array(t*e);for(let o=0;o<t;o++)for(let n=0;n<e/2;n++){let s=o*Fv**(-n/(e/2)),i=o*e+Math.floor(n/4)*8+n%4;r[i]=Math.cos(s),r[i+4]=Math.sin(s)}return r}var Kv=4;function Kn(t,e){let{x:r,y:o,scale:n,rows:s,width:i}=e,a="rms_norm_forward";H(a,{width:i},4),S(a,s*i,{x:r,y:o}),S(a,s,{scale:n}),t.add({kernel:a,bindings:{x:r,y:o,scale:n},params:{rows:s,width:i},grid:te(s)})}function ph(t,e){let{x:r,scale:o,dy:n,dx:s,rows:i,width:a,accumulate:u}=e,c="rms_norm_backward";H(c,{width:a},4),S(c,i*a,{x:r,dy:n,dx:s}),S(c,i,{scale:o}),t.add({kernel:c,bindings:{x:r,scale:o,dy:n,dx:s},params:{rows:i,width:a,accumulate:Number(u)},grid:te(Math.ceil(i/Kv))})}function Zt(t,{extent:e,tensors:r},{name:o,label:n,...s}){let{x:i,y:a,epilogue:u="store"}=s,c=D(r.operands,o),[l,f]=c.shape,d=e.batchSize*e.sequenceLength;_o(t,{kind:"NT",m:d,n:l,k:f,a:i,b:c,c:a,epilogue:u,label:n})}function mh(t,{parameters:e,operands:r}){for(let[o,n]of e){let s=D(r,o);s!==n&&Zm(t,{x:n,y:s,length:Oe(n)})}}function wr(t,e){let{config:r,extent:o,tensors:n,wanted:s}=e,{layers:i,head:a,inputs:u,operands:c}=n,l=o.batchSize*o.sequenceLength,f=r.width,d=D(c,"wte.weight");Lt(t,{tokens:u.tokens,table:d,x:i[0].x,rows:l,width:f}),u.addressRows&&oh(t,{indexes:u.addressRows,table:D(c,"wpe.weight"),x:i[0].x,rows:l,rowsPerToken:re,tableRows:be(r),width:f});for(let m=0;m<r.numLayers;m++){let h=m===r.numLayers-1;gh(t,e,m);let g=s&&h?Gv(t,e,s):e;wh(t,g,m),xh(t,g,m),Wv(t,g,{layer:m,out:h?a.xLast:i[m+1].x})}let p=s?.rows??l;Kn(t,{x:a.xLast,y:a.xLastNorm,scale:a.xLastScale,rows:p,width:f})}function Gv(t,e,r){let{config:o,tensors:n,rotation:s}=e,{rows:i,index:a}=r,u=n.layers[o.numLayers-1];if(!s)throw new Error("Internal error: wanted rows need a pass with a rotation");let c=(f,d,p)=>Lt(t,{tokens:a,table:f,x:d,rows:i,width:p});c(u.x,r.x,o.width),c(u.xNorm,r.xNorm,o.width),c(s,r.rotation,o.headDim);let l=n.layers.with(-1,{...u,x:r.x,xNorm:r.xNorm});return{config:o,extent:{batchSize:1,sequenceLength:i,training:!1},tensors:{...n,layers:l},rotation:r.rotation,addAttention:r.addAttention}}function Ta(t,e){let{numHeads:r,headDim:o}=t;return{batchSize:e.batchSize,sequenceLength:e.sequenceLength,numHeads:r,headDim:o}}function Gn(t,e){let{numHeads:r,headDim:o,qkNorm:n}=t;return{rows:e.batchSize*e.sequenceLength,numHeads:r,headDim:o,sequenceLength:e.sequenceLength,norm:n}}function hh(t,e,r){gh(t,e,r),wh(t,e,r),xh(t,e,r)}function gh(t,e,r){let{config:o,extent:n,tensors:s,rotation:i}=e,a=s.layers[r],u=n.batchSize*n.sequenceLength;Kn(t,{x:a.x,y:a.xNorm,scale:a.xScale,rows:u,width:o.width});for(let f of["k","v"])_h(t,e,{layer:r,part:f});let c={...Gn(o,n),...i?{rotation:i}:{}},{kUnshifted:l=a.kRotated}=a;Ea(t,{x:a.k,y:l,scale:a.kScale,...c}),a.kUnshifted&&s.inputs.previous&&jm(t,{x:a.kUnshifted,earlier:e.earlierKeys?.(r)??a.kUnshifted,previous:s.inputs.previous,y:a.kRotated,rows:u,numHeads:o.numHeads,headDim:o.headDim})}function wh(t,e,r){let{config:o,extent:n,tensors:s,rotation:i}=e,a=s.layers[r];_h(t,e,{layer:r,part:"q"});let u={...Gn(o,n),...i?{rotation:i}:{}};Ea(t,{x:a.q,y:a.qRotated,scale:a.qScale,...u}),e.addAttention?e.addAttention(t,r):Xm(t,{q:a.qRotated,k:a.kRotated,v:a.v,segmentStart:s.inputs.segmentStart,out:a.attention,logSumExp:a.logSumExp,...Ta(o,n)}),Zt(t,e,{name:`blocks.${r}.attn.o_proj.weight`,x:a.attention,y:a.xMiddle,epilogue:{add:a.x},label:"o_proj"})}function _h(t,e,{layer:r,part:o}){let{xNorm:n,[o]:s}=e.tensors.layers[r],i=`blocks.${r}.attn.${o}_proj.weight`;Zt(t,e,{name:i,x:n,y:s,label:"qkv_proj"})}function xh(t,e,r){let{config:{width:o,activation:n},extent:s,tensors:i}=e,{xMiddle:a,xMiddleNorm:u,xMiddleScale:c,hidden:l,activated:f}=i.layers[r],d=s.batchSize*s.sequenceLength;Kn(t,{x:a,y:u,scale:c,rows:d,width:o}),Zt(t,e,{name:`blocks.${r}.mlp.up_proj.weight`,x:u,y:f,epilogue:{activation:n,...l?{before:l}:{}},label:"up_proj"})}function Wv(t,e,{layer:r,out:o}){let{xMiddle:n,activated:s}=e.tensors.layers[r],i=`blocks.${r}.mlp.down_proj.weight`;Zt(t,e,{name:i,x:s,y:o,epilogue:{add:n},label:"down_proj"})}function yh(t,e){return va[go(t)]/e}function bh(t,e){return t.flatMap(r=>{let o=[];for(let n=r.firstRow;n<r.endRow;n+=e)o.push({...r,firstRow:n,endRow:Math.min(n+e,r.endRow)});return o})}function vh(t,e){let{q:r,promptK:o,promptV:n,suffixK:s,suffixV:i,suffixRows:a,tiles:u,out:c}=e,{numRows:l,numSteps:f,numHeads:d,headDim:p,numTiles:m}=e,h=go(t.registry.gpu.info),g=`attention_decode_${h}`;Sa(g,p);let _=d*p;S(g,_,{promptK:o,promptV:n,suffixK:s,suffixV:i}),S(g,l*_,{q:r,out:c}),f>0&&S(g,f*l,{suffixRows:a}),S(g,m*4,{tiles:u});let x={num_rows:l,num_heads:d,num_steps:f};t.add({kernel:g,overrides:{HEAD_DIM:p},bindings:{q:r,k:o,v:n,suffix_k:s,suffix_v:i,suffix_rows:a,tiles:u,out:c},params:h==="subgroup8"?{...x,slot_parts:32}:{...x,slice_parts:8,tile_rows:512/p},grid:[m,d]})}var Vv=32;function yt(t){let e=Math.max(Vv,2**(Math.floor(Math.log2(Math.max(1,t)))-3));return Math.ceil(t/e)*e}function za(t,e){return po(r=>Wn(t,e,r))-po(r=>Ut(t,r))}function $a(t,e,r){return za(t,e)<=r.limitBytes&&hr(o=>Wn(t,e,o))<=r.bufferBytes}function Wn(t,e,r){let{width:o,numHeads:n,headDim:s}=t,i=yt(e.maxRows),a=yt(e.maxPromptTokens),u=Math.max(i,a),c=ya(t,{rows:u,training:!1},r),l=Array.from({length:t.numLayers},(f,d)=>mr(r,`layer ${d} `));return{parameters:Ut(t,r),inputs:{tokens:r("tokens",[u]),segmentStart:r("segmentStart",[a]),previous:t.keyShift?r("previous",[u]):void 0,addressRows:be(t)>0?r("rows of tokens",[u,re]):void 0},positions:r("positions",[u]),rotation:r("rotation",[u,s]),chosenRotation:r("chosen rotation",[u,s]),tiles:r("tiles",[i,4]),suffixRows:r("suffixRows",[e.maxSteps,i]),promptLayers:l.map(f=>({...c,kUnshifted:t.keyShift?f("prompt k unshifted",[a,n,s]):void 0,kRotated:f("prompt k",[a,n,s]),v:f("prompt v",[a,n,s])})),suffixes:l.map(f=>({k:f("suffix k",[e.maxSteps,i,n,s]),kUnshifted:t.keyShift?f("suffix k unshifted",[e.maxSteps,i,n,s]):void 0,v:f("suffix v",[e.maxSteps,i,n,s])})),head:{xLast:c.x,xLastNorm:r("xLastNorm",[u,o]),xLastScale:r("xLastScale",[u])},chosen:{positions:r("chosen positions",[u]),picked:r("chosen hidden states",[u,o]),logits:r("chosen logits",[u,Bt(t)]),rowIndex:r("rows",[u]),logProbabilities:r("log-probabilities",[u,F(t)])}}}function Sh(t,e){let{tensors:r,numWanted:o}=e,n=Eh(t,e,r.promptLayers),s=o===void 0?{}:{wanted:Yv(e,o)};wr(t,{...n,...s})}function kh(t,e){let{config:r,tensors:o,rows:n,step:s,numTiles:i}=e,{promptLayers:a,suffixes:u,suffixRows:c}=o,{numHeads:l,headDim:f}=r,d=s*c.shape[1]*l*f*4,p=h=>({...h,shape:[n,l,f],offsetBytes:d}),m=a.map((h,g)=>({...h,kRotated:p(u[g].k),kUnshifted:u[g].kUnshifted&&p(u[g].kUnshifted),v:p(u[g].v)}));wr(t,{...Eh(t,e,m),earlierKeys:h=>{let g=(s===0?a:u)[h].kUnshifted;return y(g,"a model without keyShift has no keys before their shift"),g},addAttention:(h,g)=>Ah(h,e,{layer:g,numRows:n,numTiles:i,numSteps:s+1})})}function Eh(t,{config:e,tensors:r,rows:o},n){let{parameters:s,inputs:i,head:a,positions:u,rotation:c}=r,l=Hn(t,e);return Lt(t,{tokens:u,table:l,x:c,rows:o,width:e.headDim}),{config:e,extent:{batchSize:1,sequenceLength:o,training:!1},tensors:{operands:s,inputs:i,head:a,layers:n},rotation:c}}function Yv(t,e){let{promptLayers:r,chosen:o,chosenRotation:n}=t.tensors,s=r.length-1;return{rows:e,index:o.positions,x:o.picked,xNorm:r[s].xMiddleNorm,rotation:n,addAttention:i=>Ah(i,t,{layer:s,numRows:e,numTiles:e,numSteps:0})}}function Ah(t,{config:e,tensors:r},{layer:o,...n}){let{promptLayers:s,suffixes:i,suffixRows:a,tiles:u}=r,{qRotated:c,kRotated:l,v:f,attention:d}=s[o];vh(t,{q:c,promptK:l,promptV:f,out:d,suffixK:i[o].k,suffixV:i[o].v,suffixRows:a,tiles:u,numHeads:e.numHeads,headDim:e.headDim,...n})}var Jv=8192,Xv=1024;function Qv(t){return Im(En(t)).maxMeasurementTokens-1}function Oa(t,e){for(let r=Jv;;r/=2){let o={maxPromptTokens:Math.max(r,t.sequenceLength),maxRows:Math.max(r,Y.length),maxSteps:1};if(r<Y.length||$a(t,o,e))return o}}var e0=8;function Th(t,e){for(let r=Xv;;r/=2){let n={maxPromptTokens:Math.max(t.sequenceLength,e0*r),maxRows:r,maxSteps:Qv(t)};if(r<=32||$a(t,n,e))return n}}function*Vn(t,{maxPromptTokens:e,maxRows:r},o){let n=[],s=0;for(let i of t)(s+i.length>e||(n.length+1)*o>r)&&n.length>0&&(yield n,n=[],s=0),n.push(i),s+=i.length;n.length>0&&(yield n)}function zh(t,{probabilities:e,maxCodes:r}){let o=e.reduce((u,c)=>u+c,0);if(y(o>0&&t.length===e.length,"a range of RTTs has codes with mass"),t.length<=r)return{codes:t,weights:e.map(u=>u/o),strata:void 0};let n=[],s=[],i=[],a=0;for(let u=0,c=0;c<r;c++){let l=(c+.5)*o/r;for(;u<t.length-1&&a+e[u]<l;)a+=e[u++];n.at(-1)!==t[u]&&(n.push(t[u]),s.push(0)),s[s.length-1]++,i.push(n.length-1)}return{codes:n,weights:Float64Array.from(s,u=>u/r),strata:i}}function $h({weights:t,strata:e},r){if(!e)return 0;let o=s=>r[e[s]]/t[e[s]],n=0;for(let s=0;s+1<e.length;s+=2)n+=(o(s)-o(s+1))**2;return Math.sqrt(n)/e.length}var Yn=class{#e=[];#t;constructor(e){this.#t=e}get first(){return this.#e[0]}add(e){let r=this.#e,o=r.push(e)-1;for(;o>0;){let n=o-1>>1;if(!this.#t(e,r[n]))break;r[o]=r[n],o=n}r[o]=e}removeFirst(){let e=this.#e.pop();e===void 0||this.#e.length===0||(this.#e[0]=e,this.sinkFirst())}sinkFirst(){let e=this.#e,r=e[0],o=0;for(let n=1;n<e.length&&(n+1<e.length&&this.#t(e[n+1],e[n])&&n++,!!this.#t(e[n],r));n=2*o+1)e[o]=e[n],o=n;e[o]=r}};var it=256,t0=2**31;function Xn({numComponents:t,top:e}){let r=it*(8*t+8+1)+1024,o=8*t+256;return Math.max(1,Math.floor((t0-e*o)/r))}var _r=class{#e;#t;#r=new Yn((e,r)=>Pa(e)>Pa(r));#o=[];#n;#s=new Set;#i=0;constructor(e,{prefixLength:r,top:o}){this.#e=r,this.#t=o;let n={bytes:[],joint:e};r>0?this.#n=n:this.#o.push({...n,mass:Jn(e)})}get found(){return this.#o}get numExpanded(){return this.#i}get unfoundAtMost(){let e=[...this.#s,...this.#n?[this.#n]:[]].map(({joint:o})=>Jn(o)),r=Math.max(0,this.#a,...e);return this.#o.length<this.#t?r:Math.max(r,this.#c)}get isProven(){return this.#n===void 0&&this.#s.size===0&&this.#a<=this.#c}take(e){let r=[];for(this.#n&&e>0&&(r.push(this.#n),this.#n=void 0);r.length<e&&this.#a>this.#c;)r.push(this.#u());for(let o of r)this.#s.add(o);return r}expand(e,r){y(this.#s.delete(e),"a node is expanded that was not taken"),this.#i++;let o=this.#e-8*e.bytes.length;if(o<=8){this.#l(e,r,o);return}let n=r0(e,r),s=Uint8Array.from({length:it},(u,c)=>c);s.sort((u,c)=>n[c]-n[u]||u-c);let i={node:e,probabilities:r,masses:n,order:s,numTaken:1};this.#r.add(i);let a=Oh(i,s[0]);return this.#s.add(a),a}get#a(){return this.#r.first?Pa(this.#r.first):0}#u(){let{first:e}=this.#r;y(e,"a child is taken where there is none");let r=Oh(e,e.order[e.numTaken++]);return e.numTaken===it?this.#r.removeFirst():this.#r.sinkFirst(),r}get#c(){return this.#o.length<this.#t?0:this.#o[this.#o.length-1].mass}#l(e,r,o){let n=2**(8-o);for(let s=0;s<it;s+=n){let i=e.joint.map((c,l)=>{let f=l*it+s;return c*Jn(r.subarray(f,f+n))}),a=Jn(i);if(a<=this.#c)continue;let u=c=>this.#o[c].mass<a;this.#o.splice(co(this.#o.length,u),0,{bytes:[...e.bytes,s],joint:i,mass:a}),this.#o.length>this.#t&&this.#o.pop()}}};function Pa({masses:t,order:e,numTaken:r}){return t[e[r]]}function Oh({node:t,probabilities:e},r){let o=t.joint.map((n,s)=>n*e[s*it+r]);return{bytes:[...t.bytes,r],joint:o}}function r0({joint:t},e){let r=new Float64Array(it);return t.forEach((o,n)=>{let s=n*it;for(let i=0;i<it;i++)r[i]+=o*e[s+i]}),r}function Jn(t){let e=0;for(let r of t)e+=r;return e}var o0=64;async function Ph(t,e,r={}){let{top:o=20,maxCodes:n=32,maxExpansions:s=4096,signal:i,onProgress:a}=r,u=Ma(e,r.prefixLength);return await Pm(t,e,async c=>{let l=nt(e),f=await Rm(e,c),d=zh(l,{probabilities:f,maxCodes:Math.min(n,1024)}),p=d.codes.length,m=new _r(d.weights,{prefixLength:u,top:o}),h={tree:m,tails:Om(e,d.codes)},g={...c,walks:[[h]]},{maxRows:_}=t.decoders.continuationExtent,x=Math.max(1,Math.min(o0,Math.floor(_/p))),A=Math.min(s,Xn({numComponents:p,top:o}));for(;m.numExpanded<A&&await Dn(g,x)>0;)a?.(m.numExpanded),i?.throwIfAborted();let{isProven:M,numExpanded:T,unfoundAtMost:$}=m,I=Z=>n0(Z,{mixture:d,prefixLength:u,query:e});return{...Ra(m.found.map(I)),isProven:M,numExpanded:T,unlistedAtMost:$,codes:{inRange:l.length,used:p}}})}function Ra(t){let e=t.reduce((r,{probability:o})=>r+o,0);return{destinations:t,unlistedProbability:Math.max(0,1-e)}}function Ma({source:t},e){let r=8*t.length;if(e===void 0)return r;if(Number.isInteger(e)&&e>=0&&e<=r)return e;throw new b(`Cannot ask for prefixes of ${e} bits: 0 to ${r} were wanted for the destinations of an IPv${r===32?4:6} source`)}function n0({bytes:t,joint:e,mass:r},o){let n=new Uint8Array(o.query.source.length);return n.set(t),{prefix:{bytes:n,length:o.prefixLength},probability:r,standardError:$h(o.mixture,e)}}var Ia=16;async function Rh(t,e,r){let{numCandidates:o,top:n=o,prefixLength:s,maxExpansions:i=512,onProgress:a,signal:u}=r,c=e.map(d=>u0(d,t.config.sequenceLength)),l=c.map(({prompt:d})=>d),f=[];for(let d of Vn(l,t.decoders.continuationExtent,Ia)){u?.throwIfAborted();let p=8*e[0].source.length,m=await s0(t,d,{numCandidates:o,maxExpansions:i,numBits:p,signal:u}),h=c.slice(f.length,f.length+d.length),g=await t.decoders.continuationLogProbabilities(h.map(({prompt:x,tail:A},M)=>({prompt:x,continuations:m[M].map(({address:T})=>Uint16Array.from([...Array.from(T,$=>11+$),...A]))}))),_=0;for(let[x,A]of m.entries()){let M=g.slice(_,_+=A.length).map(I=>I.reduce((Z,oe)=>Z+oe,0)),{query:T,isRange:$}=h[x];$&&(await i0(t,T,A)).forEach((Z,oe)=>M[oe]+=Math.log(Z)),f.push(a0(A,M,{top:n,prefixLength:s??p}))}a?.(f.length)}return f}async function s0(t,e,r){let{numCandidates:o,maxExpansions:n,numBits:s,signal:i}=r,a=e.map(()=>new _r(Float64Array.of(1),{prefixLength:s,top:o})),u=a.map(l=>[{tree:l,tails:[[]]}]),c=Xn({numComponents:1,top:o})/e.length;return await t.decoders.continuePrompts(e,async(l,f)=>{for(let d=0;d<Math.min(n,c)&&await Dn({decoder:l,ends:f,walks:u},Ia)!==0;d+=Ia)i?.throwIfAborted()}),a.map(({found:l})=>l.map(({bytes:f,mass:d})=>({address:Uint8Array.from(f),prior:d})))}async function i0(t,{source:e,rttMs:r,timeS:o,context:n},s){y(r!==null,"a range has two RTTs");let[i,a]=r,u=[],c=s.map(({address:l})=>({source:e,destination:l,timeS:o,context:n}));return await t.likelyRttDistributions(c,l=>{let f=l.cdf(a)-l.cdf(i)+l.probabilityOf(i);u.push((1-l.pFailed)*Math.max(0,f))}),u}function a0(t,e,{top:r,prefixLength:o}){let n=Math.max(...e),s=e.map(f=>n===-1/0?1:Math.exp(f-n)),i=s.reduce((f,d)=>f+d,0),a=t[0]?.address.length??0,u=Array.from({length:a},(f,d)=>sn({bytes:new Uint8Array(a),length:o},d).last),c=new Map;t.forEach(({address:f},d)=>{let p={bytes:f.map((g,_)=>g&~u[_]),length:o},m=Ge(p),h=(c.get(m)?.probability??0)+s[d]/i;c.set(m,{prefix:p,probability:h,standardError:0})});let l=[...c.values()].sort((f,d)=>d.probability-f.probability);return{...Ra(l.slice(0,r)),candidates:t.length,priorMass:t.reduce((f,{prior:d})=>f+d,0)}}function u0(t,e){let r=nt(t),o=r.length>1,{source:n,timeS:s,context:i}=t,a={source:n,destination:n,rttCode:r[0],timeS:s},u=rt(a,{context:i,order:Be,sequenceLength:e}),c=u.lastIndexOf(n.length===4?3:4)+1,l=o?u.length-3:u.length;return{query:t,isRange:o,prompt:u.slice(0,c),tail:[...u.subarray(c+n.length,l)]}}var Na=zi([O(),v()]).nullish(),xo=O({error:"an IPv4 or IPv6 address was wanted"}),c0=v().min(0).max(1);function yr(t){let e=`only ${Object.keys(t).join(", ")} were wanted`;return kt(t,{error:({code:r})=>r==="unrecognized_keys"?e:void 0})}var xr=yr({src_addr:xo,dst_addr:xo,timestamp:Na,rtt:v().min(0).nullable()}),La=yr({quantiles:V(c0).max(200).optional(),at:V(v().min(0)).max(200).optional(),cdf:R().min(2).max(1e3).optional()}),Mh=yr({src_addr:xo,dst_addr:xo,timestamp:Na,context:V(xr).optional(),...La.shape,draws:R().min(2).max(2**12).optional(),seed:R().min(0).max(2**32-1).optional()}),Qn=L({measurements:R(),last_seen:O().nullable()}),l0=L({kind:He(["pair","addresses","source","destination","network"]),text:O(),src:Qn,dst:Qn,pair:Qn}),xO=L({src_addr:O(),dst_addr:O(),timestamp:v().nullable(),context_measurements:R(),p_failed:v(),mean_ms:v(),likeliest:L({rtt_ms:v(),probability:v()}),quantiles_ms:Et(O(),v()),canonical_mass:v(),at:V(L({rtt_ms:v(),cdf:v(),probability:v(),low_ms:v(),high_ms:v().nullable(),bits:v().nullable()})).optional(),cdf:V(L({rtt_ms:v(),cdf:v()})).optional(),drawn:L({num_draws:R(),num_distinct:R(),source_probability:v().nullable(),destination_probability:v().nullable(),standard_errors:L({p_failed:v(),mean_ms:v(),quantiles_ms:Et(O(),v()),cdf:V(v()).optional(),destination_probability:v()})}).optional(),basis:l0,notes:V(O()).optional(),step:R()}),yO=L({line:R(),error:O()}),Ih=yr({src_addr:xo,rtt:qr([v().min(0),v().min(0)]),timestamp:Na,context:V(xr).optional(),top:R().min(1).max(1e3).optional(),prefix_length:R().min(0).max(128).optional(),candidates:R().min(1).max(1024).optional(),max_codes:R().min(1).max(1024).optional(),max_expansions:R().min(1).max(2**16).optional()}),bO=L({src_addr:O(),rtt:qr([v(),v()]),timestamp:v().nullable(),prefix_length:R(),context_measurements:R(),destinations:V(L({prefix:O(),probability:v(),standard_error:v(),measured:Qn.nullable()})),unlisted_probability:v(),unlisted_at_most:v().optional(),is_proven:dt().optional(),step:R()}),Nh=yr({...xr.shape,context:V(xr).optional()}),vO=L({src_addr:O(),dst_addr:O(),timestamp:v().nullable(),rtt:v().nullable(),mean_bits:v(),spread_bits:v(),total_bits:v(),orders:V(L({order:O(),bits:v(),block_bits:Et(O(),v())})),step:R()}),SO=L({src_addr:O(),dst_addr:O(),timestamp:v().nullable(),rtt:v().nullable(),log_likelihood:v(),p_value:v()}),Lh=yr({context:Hr.number().int().min(0).max(1e3).optional(),seed:Hr.number().int().min(0).max(2**32-1).optional()}),Ca=L({version:O(),step:R(),num_parameters:R(),vocabulary:O(),model_sha256:O(),data_fingerprint:O(),trained_tokens:R(),config:Et(O(),Xo()),is_calibrated:dt(),data:L({origin:O(),is_synthetic:dt().nullable(),start:O().nullable(),end:O().nullable(),measurements:R(),sources:R(),destinations:R()}).nullable(),training_curve:V(L({step:R(),train_loss:v().nullable(),eval_loss:v().nullable()})),evaluation:L({num_measurements:R(),split:O(),num_training:R(),methods:V(L({name:O(),median_absolute_ms:v(),mean_absolute_ms:v(),crps_ms:v().nullable()}))}).nullable()}),kO=L({...Ca.shape,adapter:O(),examples:V(L({src_addr:O(),dst_addr:O()}))}),EO=L({type:O(),title:O(),status:R(),detail:O()});var f0=[["src","src_addr"],["dst","dst_addr"],["time","timestamp"]];function at(t,e){let r=Ch(e),{success:o,data:n,error:s}=t.safeParse(r);if(o)return n;throw new b(Di(s,{value:r}))}function Ch(t){if(typeof t!="object"||t===null||Array.isArray(t))return t;let e=new Map(Object.entries(t));for(let[o,n]of f0)if(e.has(o)){if(e.has(n))throw new b(`found ${o} and ${n}, one of the two was wanted`);e.set(n,e.get(o)),e.delete(o)}let r=e.get("context");return Array.isArray(r)&&e.set("context",r.map(Ch)),Object.fromEntries(e)}function Da(t,e={}){let{draws:r,seed:o,quantiles:n,at:s,cdf:i,...a}=at(Mh,t),{src_addr:u,dst_addr:c}=a;return{query:{src:u,dst:c,...an(Dh(a))},wanted:{quantiles:n??e.quantiles,at:s??e.at,cdf:i??e.cdf},draws:{numDraws:r,seed:o}}}function es(t){let{src_addr:e}=t,{source:r,timeS:o,context:n}=an(Dh({...t,dst_addr:e}));if(!J(r))throw new b(`found src_addr ${We(e)}, an IPv4 or IPv6 address was wanted${Vr(e)}`);return{source:r.bytes,timeS:o,context:n??[]}}function ts(t){return Yr(Bh(t))}function Dh({src_addr:t,dst_addr:e,timestamp:r,context:o}){return{src:t,dst:e,time:r,context:o?.map(Bh)}}function Bh({src_addr:t,dst_addr:e,timestamp:r,rtt:o}){return{src:t,dst:e,rtt:o,...r!==void 0&&{time:r}}}function jt(t){return Ba(t)}function Ba(t){if(Array.isArray(t))return t.map(Ba);if(typeof t!="object"||t===null)return t;let e=Object.entries(t).map(([r,o])=>[r.replace(/[A-Z]/g,n=>`_${n.toLowerCase()}`),Ba(o)]);return Object.fromEntries(e)}var[d0,p0,m0]=[20,32,4096];function Uh(t,e){let{rtt:r,prefix_length:o,candidates:n,...s}=at(Ih,e),{src_addr:i,timestamp:a,context:u}=s,c={...es({src_addr:i,timestamp:a,context:u}),rttMs:r};nt(c);let l=Ma(c,o),f=Pt({...c,destination:c.source},t.config.sequenceLength),d={src_addr:i,rtt:r,timestamp:c.timeS,prefix_length:l,context_measurements:f.length},{top:p=d0,max_codes:m=p0,max_expansions:h=m0}=s;return async g=>{let _={top:p,maxExpansions:h,signal:g},x=t.trainingData?.known,A=I=>({destinations:I.destinations.map(({prefix:Z,...oe})=>({prefix:Ge(Z),...jt(oe),measured:x?fo(x.measuredIn(c.source,Z)):null})),unlisted_probability:I.unlistedProbability});if(n!==void 0){let[I]=await Rh(t,[c],{..._,numCandidates:n,prefixLength:l});return{...d,...A(I),step:t.step}}let M=await Ph(t,c,{..._,maxCodes:m,prefixLength:l}),{unlistedAtMost:T,isProven:$}=M;return{...d,...A(M),...jt({unlistedAtMost:T,isProven:$}),step:t.step}}}async function*Zh(t,e,r){let o=t[Symbol.asyncIterator](),n=[],s,i=!1;try{for(;!i||n.length>0;){!i&&n.length<r&&(s??=o.next());let a=n[0],u=s?.then(f=>({next:f})),c=a?.then(f=>({value:f})),l=await Promise.race([c,u].filter(f=>f!==void 0));if("value"in l){n.shift(),yield l.value;continue}s=void 0,l.next.done?i=!0:n.push(h0(e(l.next.value)))}}finally{let a=o.return?.();s?a?.catch(()=>{}):await a}}function h0(t){return t.catch(()=>{}),t}async function*Ua(t){let e=0;for(let r of t)yield{line:++e,read:()=>r}}async function*Za(t){let e=0;for await(let r of t)e++,r.trim()!==""&&(yield{line:e,read:()=>g0(r)})}async function ja(t){return await Array.fromAsync(t,e=>"error"in e?e:e.answer)}async function*qa(t){for await(let e of t)yield"error"in e?e:{line:e.line,...e.answer}}function g0(t){try{return JSON.parse(t)}catch(e){throw e instanceof SyntaxError?new b("found no JSON, an object was wanted",{cause:e}):e}}var br=class{#e=new Map;#t=0;get length(){return this.#t}get numLanes(){return this.#e.size}push(e,r){let o=this.#e.get(r);o?o.push(e):this.#e.set(r,[e]),this.#t++}take(){let e=this.#e.entries().next();if(e.done)return;let[r,o]=e.value,n=o.shift();return this.#e.delete(r),o.length>0&&this.#e.set(r,o),this.#t--,n}remove(e,r){let o=this.#e.get(r),n=o?.indexOf(e)??-1;!o||n<0||(o.splice(n,1),o.length===0&&this.#e.delete(r),this.#t--)}};var Fa=1024;function Ha(t){return new Ae(429,`Cannot answer: ${t} requests wait already; ask again in a second`)}var rs=class{#e;#t;#r=new br;#o=!1;#n=1;#s;constructor(e,r={}){this.#e=e,this.#t={maxBatch:62,maxWaitMs:10,maxQueue:Fa,onBatch:()=>{},...r}}get queueLength(){return this.#r.length}async ask(e,r,{lane:o,signal:n}={}){if(n?.throwIfAborted(),$e(e,this.#e.config.sequenceLength),!o&&this.#r.numLanes>=this.#t.maxQueue)throw Ha(this.#t.maxQueue);let{promise:s,resolve:i,reject:a}=Promise.withResolvers(),u=o??{},c={query:e,settle(f){try{i(r(f))}catch(d){a(d)}},fail:a},l=()=>{this.#r.remove(c,u),a(n?.reason)};n?.addEventListener("abort",l),this.#r.push(c,u),this.#i();try{return await s}finally{n?.removeEventListener("abort",l)}}#i(){if(this.#o||this.#r.length===0)return;let{maxBatch:e,maxWaitMs:r}=this.#t,o=this.#r.length>=Math.min(this.#n,e);if(this.#s&&(this.#s.isLast||!o))return;clearTimeout(this.#s?.id);let n=setTimeout(()=>void this.#a(),o?0:r);this.#s={id:n,isLast:o}}async#a(){this.#s=void 0;let e=[];for(;e.length<this.#t.maxBatch;){let o=this.#r.take();if(!o)break;e.push(o)}if(e.length===0)return;this.#o=!0,this.#n=e.length,this.#t.onBatch(e.length);let r=await this.#u(e);this.#o=!1,this.#r.length>=this.#t.maxBatch&&this.#a(),e.forEach((o,n)=>"error"in r?o.fail(r.error):o.settle(r.distributions[n])),this.#i()}async#u(e){try{let r=e.map(({query:o})=>o);return{distributions:await or(()=>this.#e.rttDistributions(r))}}catch(r){return{error:r}}}};var os=class{maxQueue;#e;#t;constructor(e=Fa){this.maxQueue=e,this.#e=new br,this.#t=!1}get queueLength(){return this.#e.length}async run(e,{lane:r,signal:o}){o?.throwIfAborted(),this.#t&&await this.#r(r,o),this.#t=!0;try{return o?.throwIfAborted(),await e()}finally{let n=this.#e.take();n?n():this.#t=!1}}async#r(e,r){if(!e&&this.#e.numLanes>=this.maxQueue)throw Ha(this.maxQueue);let{promise:o,resolve:n,reject:s}=Promise.withResolvers(),i=e??{},a=()=>{this.#e.remove(n,i),s(r?.reason)};r?.addEventListener("abort",a),this.#e.push(n,i);try{await o}finally{r?.removeEventListener("abort",a)}}};var w0=4;function jh(t,e){let{quantiles:r,atMs:o=[]}=e,{distribution:n}=t.mixture,{pFailed:s,meanMs:i,canonicalMass:a}=n;return{pFailed:s,meanMs:Number(i.toPrecision(w0)),likeliest:n.likeliest(),quantilesMs:qh(r,u=>n.quantileMs(u)),canonicalMass:a,...o.length>0&&{at:o.map(u=>_0(n,u))},...t.mixture.numDraws>0&&{drawn:x0(t,{quantiles:r,atMs:o})}}}function _0(t,e){let r=t.indexOf(e),{lowMs:o,highMs:n}=rn(se[r]),s=t.probabilities[r],i=(1-t.pFailed)*s;return{rttMs:e,cdf:t.cdf(e),probability:s,lowMs:o,highMs:n===1/0?null:n,bits:i>0?-Math.log2(i):null}}function x0(t,{quantiles:e,atMs:r=[]}){let{mixture:o,sourceProbability:n,destinationProbability:s,destinationProbabilityError:i}=t,{numDraws:a,numDistinct:u,pFailedError:c,meanErrorMs:l}=o;return{numDraws:a,numDistinct:u,sourceProbability:n,destinationProbability:s,standardErrors:{pFailed:c,meanMs:l,quantilesMs:qh(e,f=>o.quantileErrorMs(f)),...r.length>0&&{cdf:r.map(f=>o.cdfError(f))},destinationProbability:i}}}function qh(t,e){return Object.fromEntries(t.map(r=>[r,e(r)]))}var y0=[.05,.25,.5,.75,.95],b0=[.001,.999];function Fh(t,{quantiles:e=y0,at:r=[],cdf:o},{step:n,trainingData:s}){let{query:{src:i,dst:a,source:u,destination:c,timeS:l},answer:f,numContextUsed:d}=t,p=Em(t);return{src_addr:i,dst_addr:a,timestamp:l,context_measurements:d,...jt(jh(f,{quantiles:e,atMs:r})),...o!==void 0&&{cdf:v0(f.mixture.distribution,o)},basis:$m(zm(s,u,c)),...p.length>0&&{notes:p},step:n}}function v0(t,e){let[r,o]=b0.map(n=>t.quantileMs(n));return Array.from({length:e},(n,s)=>{let i=r*(o/r)**(s/(e-1));return{rtt_ms:i,cdf:t.cdf(i)}})}var S0=.01,ns=Y.map(lr),Hh=ns.map(({length:t})=>t),ss=class{logLikelihood;needed;#e;#t=0;#r=0;#o=0;constructor(e,{outcome:r,first:o,second:n},s=S0){this.logLikelihood=hm(e,{outcome:r,first:o,second:n});let i=ca(r);this.#e=ot(o,Y).probabilities.map(u=>u*(1-i));let a=e===null?-1:Y.indexOf(e>>8);if(e===null)this.#t=i;else{let{probabilities:u}=ot(n,ns[a]);this.#t=this.#e[a]*u[ns[a].indexOf(e&255)],this.addSecondBytes(a,n)}this.#n(i),this.needed=this.#s(a,s)}addSecondBytes(e,r){let o=this.#e[e];for(let n of ot(r,ns[e]).probabilities)this.#n(o*n)}pValue(e){return Math.min(1,this.#r+this.#o*(1-e))}#n(e){e<this.#t?this.#r+=e:e===this.#t&&(this.#o+=e)}#s(e,r){let o=[];for(let i=0;i<this.#e.length;i++){let a=this.#e[i];i!==e&&(a<this.#t?this.#r+=a:o.push({index:i,most:Math.min(a,Hh[i]*this.#t)}))}o.sort((i,a)=>i.most-a.most||i.index-a.index);let n=r*this.#r,s=0;for(;s<o.length&&o[s].most<=n;){let{index:i,most:a}=o[s++];n-=a,this.#e[i]<Hh[i]*this.#t&&(this.#r+=this.#e[i])}return o.slice(s).map(({index:i})=>i).sort((i,a)=>i-a)}};var Kh=2**32;async function Wh(t,e,r){let o=[],n=0,s=0,i=k0(e,t.config.sequenceLength),a=i.map(({tokens:u})=>u);return await t.decoders.withPrompts(a,1,async(u,c,l)=>{let f=i.slice(l,l+c.length);s+=c.reduce((h,{length:g})=>h+g,0);let d=f.flatMap(h=>h.numbers),p=d.map(h=>e[h]),m=await A0(u,c,{part:p,ends:f.map(({ends:h})=>h),...r});for(let h of T0(m,u.extent.maxRows))await z0(u,m,h),n+=h.length;m.forEach((h,g)=>{let{number:_}=p[g],x=new je(r.seed,"score/p-value",_%Kh,Math.floor(_/Kh));o[d[g]]={logLikelihood:h.logLikelihood,pValue:h.pValue(x.float64())}})}),{scores:o,numExpanded:n,numTokens:s}}function k0(t,e){let r=[],o=new Map;return t.forEach((n,s)=>{let{rttCode:i}=n.measurement,a=$e({...n.measurement,context:n.context},e),u=E0(a,i),c=Gh(a.subarray(0,a.lastIndexOf(0))),l=n.context.length>0?o.get(c):void 0;if(o.delete(c),i===null||!l){let d={tokens:u,ends:[u.length],numbers:[s]};r.push(d),i!==null&&(l=d)}else l.tokens=u,l.ends.push(u.length),l.numbers.push(s);if(!l)return;let f=i===null?[10]:[8,11+(i>>8),11+(i&255)];o.set(Gh(Uint16Array.from([...a,...f])),l)}),r}function Gh(t){return String.fromCharCode(...t)}function E0(t,e){let r=e===null?Y[0]:e>>8;return Uint16Array.from([...t,8,11+r])}async function A0(t,e,{part:r,ends:o,maxRelativeError:n}){let s=F(t.config),i=await t.prefill(e,{numLast:3,ends:o});return r.map(({measurement:a},u)=>{let[c,l,f]=[0,1,2].map(d=>ue(i,3*u+d,s));return new ss(a.rttCode,{outcome:c,first:l,second:f},n)})}function*T0(t,e){let r=t.flatMap(({needed:o},n)=>o.map(s=>({prompt:n,index:s})));for(let o=0;o<r.length;o+=e)yield r.slice(o,o+e)}async function z0(t,e,r){let o=F(t.config),n=e.map(()=>0);for(let{prompt:i}of r)n[i]++;t.fork(n,{numDropped:1});let s=await t.step(r.map(({index:i})=>11+Y[i]));r.forEach(({prompt:i,index:a},u)=>e[i].addSecondBytes(a,ue(s,u,o)))}var is=class{maxContext;maxKept;#e;#t;#r;#o;#n;#s;constructor(e,r=65536){this.maxContext=e,this.maxKept=r,this.#e=[],this.#t=new Map,this.#r=new Map,this.#o=0,this.#n=0,this.#s=[]}get numKept(){return this.#o+this.#s.length}clear(){this.#e=[],this.#s=[],this.#t.clear(),this.#r.clear(),this.#o=0}add(e,r,o){this.maxContext!==0&&(this.#i(r),this.#s.push({pair:e,order:this.#n++,timeUs:r,measurement:o,isDropped:!1}))}contextOf(e,r,o=this.maxContext){this.#i(r);let n=o===0?[]:this.#t.get(e)?.slice(-o)??[];for(let s=this.#e.length-1;s>=0&&n.length<o;s--){let i=this.#e[s];!i.isDropped&&i.pair!==e&&n.push(i)}return n.sort((s,i)=>s.order-i.order).map(({measurement:s})=>s)}growingContextOf(e,r){this.#i(r);let o=this.#r.get(e),n=this.#t.get(e)?.filter(({order:u})=>u>=(o?.endOrder??0))??[],i=o!==void 0&&o.context.length+n.length<=this.maxContext?[...o.context,...n.map(({measurement:u})=>u)]:this.contextOf(e,r,Math.ceil(this.maxContext/2)),a=this.#t.get(e)?.at(-1);return a&&this.#r.set(e,{context:i,endOrder:a.order+1}),i}#i(e){if(!(this.#s.length===0||this.#s[0].timeUs>=e)){for(let r of this.#s)this.#a(r);this.#s=[],this.#e.length>2*this.#o+256&&(this.#e=this.#e.filter(({isDropped:r})=>!r))}}#a(e){let r=this.#t.get(e.pair)??[];r.push(e)===1&&this.#t.set(e.pair,r),this.#e.push(e),this.#o++,r.length>this.maxContext?this.#u(r[0]):this.#o>this.maxKept&&this.#u(this.#e.find(({isDropped:o})=>!o))}#u(e){if(!e)return;let r=this.#t.get(e.pair);r?.shift(),r?.length===0&&(this.#t.delete(e.pair),this.#r.delete(e.pair)),e.isDropped=!0,this.#o--}};function Vh({source:t,destination:e}){return`${t} ${e}`}var $0=2**14,as=class{maxContext;maxKept;#e;#t;constructor(e,r=$0){this.maxContext=e,this.maxKept=r,this.#e=new Map,this.#t=0}get numKept(){return this.#t}contextOf(e,r){let{source:o,timeS:n}=e,s=`${o} ${n===null}`,i=this.#e.get(s)??{history:new is(this.maxContext,this.maxKept/2),newestUs:0},{history:a}=i,u=O0(r)??i.newestUs+1,c=u<i.newestUs;i.newestUs=Math.max(i.newestUs,u);let l=Vh(e),f=(c?a.contextOf(l,i.newestUs):a.growingContextOf(l,i.newestUs)).filter(d=>(d.timeS??0)<=(n??0)).sort((d,p)=>(d.timeS??0)-(p.timeS??0));return this.#e.delete(s),this.#e.set(s,i),this.#t-=a.numKept,a.add(l,i.newestUs,e),this.#t+=a.numKept,this.#r(),f}#r(){for(let[e,{history:r}]of this.#e){if(this.#t<=this.maxKept)return;this.#t-=r.numKept,this.#e.delete(e)}}};function O0(t){let e=on(String(t??""));return"timeUs"in e?e.timeUs:void 0}var P0=256;async function*Jh(t,e,{context:r,seed:o,signal:n}){let s=new as(r),i=[];for await(let a of e){let u=R0(a,s,t.config.sequenceLength);i.push(u),!(i.length<P0)&&(n?.throwIfAborted(),yield*Yh(t,i,o),i=[])}n?.throwIfAborted(),yield*Yh(t,i,o)}function R0({line:t,read:e},r,o){try{let n=at(xr,e()),s=ts(n),i=r.contextOf(s,n.timestamp);return $e({...s,context:i},o),{asked:n,case:{measurement:s,context:i,number:t-1}}}catch(n){if(n instanceof b)return{line:t,error:n.message};throw n}}async function*Yh(t,e,r){let o=e.flatMap(i=>"error"in i?[]:[i.case]),{scores:n}=await or(()=>Wh(t,o,{seed:r})),s=0;for(let i of e){if("error"in i){yield i;continue}let{asked:{src_addr:a,dst_addr:u,rtt:c},case:{measurement:l,number:f}}=i,{logLikelihood:d,pValue:p}=n[s++],m={src_addr:a,dst_addr:u,timestamp:l.timeS,rtt:c};yield{line:f+1,answer:{...m,log_likelihood:d,p_value:p}}}}var M0=124,I0=20,us=class{#e;#t;#r;#o;#n;constructor(e,{info:r,batch:o={}}){this.#e=e,this.#t=r,this.#o=new rs(e,o),this.#n=new os(o.maxQueue)}get queueLength(){return this.#o.queueLength+this.#n.queueLength}async rtt(e,r){return await this.#i(Da(e),{signal:r})}async rttBatch(e,r){return await ja(this.#s(Ua(Xh(e)),{},r))}rttLines(e,r={},o){return qa(this.#s(Za(e),r,o))}async destinations(e,r){let o=Uh(this.#e,e);return await this.#a(()=>o(r),{signal:r})}async likelihood(e,r){let{context:o,...n}=at(Nh,e),s=ts(n),{context:i}=es({...n,context:o});$e({...s,context:i},this.#e.config.sequenceLength);let a={measurement:s,rttMs:n.rtt,context:i},[u]=await this.#a(()=>xm(this.#e,[a]),{signal:r}),{meanBits:c,spreadBits:l,totalBits:f}=u,d=u.orders.map(({blocks:m,bits:h})=>({order:m.map(({field:g})=>g).join(),bits:h,blockBits:Object.fromEntries(m.map(({field:g,bits:_})=>[g,_]))})),p=jt({meanBits:c,spreadBits:l,totalBits:f,orders:d});return{...n,timestamp:s.timeS,...p,step:this.#e.step}}async score(e,r={},o){return await ja(this.#u(Ua(Xh(e)),r,o))}scoreLines(e,r={},o){return qa(this.#u(Za(e),r,o))}async model(){return this.#r??=this.#a(()=>Tm(this.#e),{}).catch(e=>{throw this.#r=void 0,e}),{...this.#t,adapter:this.#e.gpu.info.name,examples:await this.#r}}async*#s(e,r,o){let n=at(La,r),s={lane:{},signal:o};yield*Zh(e,async({line:a,read:u})=>{try{return{line:a,answer:await this.#i(Da(u(),n),s)}}catch(c){if(!(c instanceof Error)||un(c).status!==400)throw c;return{line:a,error:c.message}}},M0)}async#i({query:e,wanted:r,draws:o},n){let s=this.#e,{first:i,...a}=km(s,e,[]),u=f=>{let d={...a,numContextUsed:i.context.length,answer:f};return Fh(d,r,s)};if(J(e.source)&&J(e.destination))return await this.#o.ask(i,f=>u(Ln(f)),n);let c={...e,context:i.context},l=()=>n.signal?.throwIfAborted();return await this.#a(async()=>u(await da(s,c,{...o,onProgress:l})),n)}async#a(e,r){return await this.#n.run(()=>or(e),r)}async*#u(e,r,o){let{context:n=I0,seed:s=0}=at(Lh,r);yield*Jh(this.#e,e,{context:n,seed:s,signal:o})}};function Xh(t){if(Array.isArray(t))return t;throw new Ae(400,"Cannot answer: found no array, one was wanted")}var ve="wpe.weight",N0={nodes:new Uint32Array,keys:new Float32Array,values:new Float32Array};function L0({coordinates:t}){return t?Xi(nr(t),0).reduce((e,{length:r})=>e+r,0):0}function Qh({prefixVectors:t,pairVectors:e}){return{firstPair:t?.rows??0,length:e?.history?ht:0}}function eg(t,e,r){let o=new Map;return rg(t,r,({name:n,start:s,length:i,values:a,at:u})=>{let c=o.get(n)??D(e,n).slice();o.set(n,c),c.set(a.subarray(u,u+i),s)}),new Map([...e,...o])}function tg(t,e,r,o=N0.nodes){let n={rows:r,keys:new Float32Array(2*r.length),values:new Float32Array(t.width*r.length),history:new Float32Array(Qh(t).length*r.length),coordinates:{nodes:o,keys:new Float32Array(2*o.length),values:new Float32Array(L0(t)*o.length)}};return rg(t,n,({name:s,start:i,length:a,values:u,at:c})=>{u.set(D(e,s).subarray(i,i+a),c)}),n}function rg(t,e,r){let{rows:o,keys:n,values:s,history:i,coordinates:{nodes:a,...u}}=e,{width:c,coordinates:l}=t,{firstPair:f,length:d}=Qh(t);if(y(o.every(m=>m<be(t)),"rows of another model"),o.forEach((m,h)=>{r({name:ze,start:2*m,length:2,values:n,at:2*h}),r({name:ve,start:c*m,length:c,values:s,at:c*h}),!(m<f||d===0)&&r({name:sr,start:d*(m-f),length:d,values:i,at:d*h})}),y(a.every(m=>m<(l?.nodes??0)),"coordinates of another model"),!l)return;let p=0;a.forEach((m,h)=>{r({name:oo,start:2*m,length:2,values:u.keys,at:2*h});for(let{part:g,start:_,length:x}of Xi(nr(l),m))r({name:no(g),start:_,length:x,values:u.values,at:p}),p+=x})}var og=2**48;function ng(t,e=1/0){for(let r=0;r<t.length;r++)if(!(Math.abs(t[r])<e))return r;return-1}function sg(t,e=1/0){for(let[r,o]of t){let n=ng(o,e);if(n<0)continue;let s=e===1/0?"a finite number":`a magnitude below ${e.toExponential(1)}`;return`element ${n} of tensor ${r} is ${o[n]}, ${s} was wanted`}}function ig(t,e){let r=ng(t),o=e.find(s=>!(s>0));if(r<0&&o===void 0)return;let n=r<0?`a hidden state of scale ${o}`:`a log-probability of ${t[r]}`;throw new b(`Cannot use the model: found ${n}, as where weights are too large for float32, finite numbers were wanted; use an earlier checkpoint or another run`)}var C0={initial:2**15,min:1,max:2**24,growthSteps:500};function ag({initial:t}=C0){return Float32Array.of(t,0)}var D0=4096,B0=256,Ka="reduce_partials";function cg(t){return Math.min(B0,Math.ceil(t/D0))}function lg(t,e){let{x:r,length:o,out:n,accumulate:s=!1}=e;S(Ka,o,{x:r});let i=cg(o);if(i===1)return ug(t,{x:r,length:o,out:n,accumulate:s});let a=t.registry.gpu.tensor("partial sums",[i]);fg(t,{label:"sum",isSum:!0,x:r,length:o,out:a,numPartials:i}),ug(t,{x:a,length:i,out:n,accumulate:s})}function ug(t,e){S(Ka,1,{out:e.out}),fg(t,{label:"sum",isSum:!0,...e})}function fg(t,e){let{label:r,isSum:o=!1,x:n,length:s,out:i,first:a=0,numPartials:u=1,count:c=1,accumulate:l=!1}=e;t.add({kernel:Ka,label:r,overrides:{SQUARE:+!o},bindings:{x:n,partials:i},params:{length:s,first:a,num_partials:u,accumulate:Number(l)},grid:[...te(u),c]})}function dg(t,e){let{config:r,extent:o,tensors:n}=e,{backward:s,head:i,gradients:a,inputs:u}=n;y(s,"a model without training has no backward pass");let c=o.batchSize*o.sequenceLength,l=r.width;yo(t,e,{name:"lm_head.weight",dy:s.dLogits,x:i.xLastNorm,dx:s.dNorm}),t.mark("lm_head."),Ga(t,e,{x:i.xLast,scale:i.xLastScale,backward:s,accumulate:!1});for(let d=r.numLayers-1;d>=0;d--)o.checkpointActivations&&d<r.numLayers-1&&hh(t,e,d),U0(t,e,{layer:d,backward:s}),Z0(t,e,{layer:d,backward:s}),t.mark(`blocks.${d}.`);let f=[{name:"wte.weight",tokenRows:u.tokenRows,vocabSize:F(r),numUses:c},{name:"wpe.weight",tokenRows:u.rowPlaces,vocabSize:xt(r,o),numUses:gr(o)}];for(let{name:d,tokenRows:p,...m}of f){if(!p)continue;let h=D(a,d);Dm(t,{tokenRows:p,dx:s.dx,dTable:h,rows:c,width:l,...m})}}function yo(t,{extent:e,tensors:r},o){let{name:n,dy:s,x:i,dx:a,epilogue:u="store"}=o,c=D(r.operands,n),[l,f]=c.shape,d=e.batchSize*e.sequenceLength,p=n.replace(/^blocks\.\d+\.\w+\.|\.weight$/g,"");_o(t,{kind:"NN",m:d,n:f,k:l,a:s,b:c,c:a,epilogue:u,label:`${p} dx`});let m=r.gradients.get(n);m&&_o(t,{kind:"TN",m:l,n:f,k:d,a:s,b:i,c:m,epilogue:"accumulate",label:`${p} dW`})}function U0(t,e,{layer:r,backward:o}){let{xMiddle:n,xMiddleNorm:s,xMiddleScale:i,hidden:a,activated:u}=e.tensors.layers[r];y(a,"a model without training keeps no argument of the activation"),yo(t,e,{name:`blocks.${r}.mlp.down_proj.weight`,dy:o.dx,x:u,dx:o.dHidden,epilogue:{activation:e.config.activation,slopeAt:a}}),yo(t,e,{name:`blocks.${r}.mlp.up_proj.weight`,dy:o.dHidden,x:s,dx:o.dNorm}),Ga(t,e,{x:n,scale:i,backward:o,accumulate:!0})}function Z0(t,e,{layer:r,backward:o}){let{config:n,extent:s,tensors:i}=e,a=i.layers[r];yo(t,e,{name:`blocks.${r}.attn.o_proj.weight`,dy:o.dx,x:a.attention,dx:o.dAttention}),Qm(t,{q:a.qRotated,k:a.kRotated,v:a.v,out:a.attention,dOut:o.dAttention,logSumExp:a.logSumExp,segmentStart:i.inputs.segmentStart,dq:o.dqRotated,dk:o.dkRotated,dv:o.dv,delta:o.delta,...Ta(n,s)});let u=Gn(n,s),{dqRotated:c,dkRotated:l,dkUnshifted:f=l,dq:d,dk:p,dv:m,dNorm:h}=o,{previous:g}=i.inputs;g&&qm(t,{dy:l,previous:g,dx:f,...u}),Aa(t,{x:a.q,scale:a.qScale,dy:c,dx:d,...u}),Aa(t,{x:a.k,scale:a.kScale,dy:f,dx:p,...u});for(let[_,x]of[["q",d],["k",p],["v",m]])yo(t,e,{name:`blocks.${r}.attn.${_}_proj.weight`,dy:x,x:a.xNorm,dx:h,epilogue:_==="q"?"store":"accumulate"});Ga(t,e,{x:a.x,scale:a.xScale,backward:o,accumulate:!0})}function Ga(t,{config:{width:e},extent:r},{backward:{dNorm:o,dx:n},...s}){let i=r.batchSize*r.sequenceLength;ph(t,{...s,dy:o,dx:n,rows:i,width:e})}function pg(t,e){let{logits:r,targets:o,lossMask:n,losses:s,weight:i,dLogits:a,lossScale:u,ordinal:c,teacher:l}=e,{markedWeight:f=1,rows:d,vocabSize:p,stride:m,softcap:h}=e,g="cross_entropy";mg(g,e),S(g,d,{targets:o,lossMask:n,losses:s}),S(g,d*m,{logits:r,...a?{dLogits:a}:{},...l?{teacherLogits:l.logits}:{}}),S(g,1,{weight:i,...u?{lossScale:u}:{}}),t.add({kernel:g,overrides:{SOFTCAP:+(h!==null),GRADIENT:+(a!==void 0),SCALED:+(u!==void 0),TAUGHT:+(l!==void 0)},bindings:{logits:r,targets:o,loss_mask:n,weight:i,losses:s,d_logits:a??t.registry.unusedOutput,loss_scale:u??i,teacher_logits:l?.logits??r},params:{rows:d,vocab_size:p,stride:m,softcap:h??0,first_byte:c?.firstByte??0,ordinal_2:c?.weights[0]??0,ordinal_3:c?.weights[1]??0,marked_weight:f,teacher_weight:l?.weight??0,teacher_softcap:l?.softcap??0},grid:te(d)})}function Wa(t,e){let{logits:r,rowIndex:o,out:n,numRows:s,vocabSize:i,stride:a,softcap:u}=e,c="log_probabilities";mg(c,e),S(c,a,{logits:r}),S(c,s,{rowIndex:o}),S(c,s*i,{out:n}),t.add({kernel:c,overrides:{SOFTCAP:+(u!==null)},bindings:{logits:r,row_index:o,out:n},params:{num_rows:s,vocab_size:i,stride:a,softcap:u??0},grid:te(s)})}function mg(t,{vocabSize:e,stride:r,softcap:o}){if(H(t,{stride:r},4),H(t,{vocabSize:e},1),e>r)throw new C(t,`vocabSize is ${e}, at most the stride ${r} was wanted`);if(o!==null&&!(o>0))throw new C(t,`softcap is ${o}, a positive number or null was wanted`)}function Va(t,{config:e,extent:r,tensors:o,teacher:n}){let{head:s,inputs:i,backward:a}=o,{rttDistanceWeights:u,rttByteWeight:c}=r,l=r.batchSize*r.sequenceLength;Zt(t,{extent:r,tensors:o},{...hg,x:s.xLastNorm,y:s.logits}),pg(t,{logits:s.logits,targets:i.targets,lossMask:i.lossMask,losses:s.losses,weight:i.weight,lossScale:i.lossScale,markedWeight:c,rows:l,...Ya(e),...a?{dLogits:a.dLogits,teacher:n}:{},...u?{ordinal:{firstByte:11,weights:u}}:{}})}function Ya(t){return{vocabSize:F(t),stride:Bt(t),softcap:t.softcap}}var hg={name:"lm_head.weight",label:"lm_head"};function gg(t,e){let{config:r,hiddenStates:o,operands:n,tensors:s,rows:i}=e,{positions:a,picked:u,logits:c,rowIndex:l,logProbabilities:f}=s;Lt(t,{tokens:a,table:o,x:u,rows:i,width:r.width}),Zt(t,{extent:{batchSize:1,sequenceLength:i,training:!1},tensors:{operands:n}},{...hg,x:u,y:c}),Wa(t,{logits:c,rowIndex:l,out:f,numRows:i,...Ya(r)})}async function wg(t,{config:e,logits:r,positions:o}){let{gpu:n}=t,s=o.length,i=n.tensorFrom("chosen rows",[s],o),a=n.tensor("log-probabilities",[s,F(e)]),u=new Pe(t,"log-probabilities");Wa(u,{logits:r,rowIndex:i,out:a,numRows:s,...Ya(e)}),u.run();let[c]=await n.read(a);for(let{buffer:l}of[i,a])l.destroy();return c}function j0(t,e){let r=0,o=t;for(;o-r>1;){let n=Math.floor((r+o)/2);e(n)?r=n:o=n}return r}function q0(t){return t>0?`set train.microBatchSize to ${t} or less`:"choose a smaller model"}async function _g(t,e,r){let o=Nt(t.device),n=s=>hr(i=>_a(e,{...r,batchSize:s},i))<=o;return await Un(t,s=>_a(e,r,s),{what:"the model",remedy:n(r.batchSize)?"lower train.microBatchSize or set train.checkpointActivations":q0(j0(r.batchSize,n))})}function cs(t,e,{parameters:r,weights:o}){let n=Tn(e);for(let s of o.keys())if(!n.has(s))throw Ja(`a weight ${s}`,"none of that name");for(let[s,[i,a]]of n){let u=o.get(s);if(!u)throw Ja(`no weight ${s}`,`one of shape [${i}, ${a}]`);if(u.length!==i*a)throw Ja(`${u.length} values of ${s}`,`a shape of [${i}, ${a}]`);let c=r.get(s);c&&t.write(c,u)}}async function xg(t,e,r){let o=await t.read(...r.values()),n=F(e);return new Map([...r].map(([s,i],a)=>{let c=s.startsWith("lm_head.weight")?n*e.width:Oe(i);return[s,o[a].slice(0,c)]}))}function Ja(t,e){return new b(`Cannot load the weights: found ${t}, wanted ${e}; use the configuration they were trained with`)}var ls=class t{registry;config;extent;#e;#t;#r;#o;#n;#s;#i;constructor(e,r,o,n,s){this.registry=e,this.config=r,this.extent=o,this.#e=e.gpu,this.#t={config:r,extent:o,tensors:n,teacher:s},n.inputs.addressRows&&(this.#s=new wt(r));let i=o.freeRows!==void 0;this.#i=new jn(xt(r,o),gr(o),i);let{lossScale:a}=n.inputs;a&&this.#e.write(a,ag()),this.#r=new Pe(e,"operand copies"),mh(this.#r,n),this.#o=new Pe(e,"evaluation"),wr(this.#o,this.#t),Va(this.#o,{...this.#t,tensors:{...n,backward:void 0}}),this.#n=o.training?this.#c():void 0}static async create(e,r,o,n){let{sequenceLength:s=r.sequenceLength}=o;y(s<=r.sequenceLength,`sequences of ${s} tokens are too long`);let i={...o,sequenceLength:s},a=await _g(e.gpu,r,i),u=new t(e,r,i,a,n);return await e.ready(),u}async tune(e){for(let r of[this.#n,this.#o])r&&await e.tune(r);this.zeroGradients()}get parameters(){return this.#t.tensors.parameters}get gradients(){return this.#t.tensors.gradients}get lossSum(){return this.#t.tensors.lossSum}get lossScale(){return this.#t.tensors.inputs.lossScale}get slotRows(){return this.#t.tensors.inputs.slotRows}get operands(){return this.#t.tensors.operands}load(e){cs(this.#e,this.config,{parameters:this.parameters,weights:e}),this.#s?.load(e),this.#r.length>0&&this.#r.run()}async weights(){let e=await xg(this.#e,this.config,this.parameters);return this.#s?.save(e),e}zeroGradients(){this.#i.clear();let e=this.#e.device.createCommandEncoder({label:"zero gradients"});for(let{buffer:r}of this.gradients.values())e.clearBuffer(r);e.clearBuffer(this.lossSum.buffer),this.#e.device.queue.submit([e.finish()])}accumulate(e,r,o){y(this.#n,"a model without training cannot accumulate gradients"),this.#l(e,r,{isTraining:!0,ofTokens:o}),this.#n.run()}accumulateShare(e,r,{share:o,afterPart:n}){y(this.#n,"a model without training cannot accumulate gradients");let{sequenceLength:s}=this.extent,i=e.tokens.length/s,a=this.#s&&ho(e,this.#s,{sequenceLength:s,isTraining:!0});a&&this.#i.claim(a),this.#l(Bm(e,i,o),r,{isTraining:!0,ofTokens:a&&Ct(a,i,o)}),this.#n.runInParts(n)}usedRows(e){return e==="wpe.weight"?this.#i.size:D(this.gradients,e).shape[0]}async profile(e,r){return y(this.#n,"a model without training cannot accumulate gradients"),this.#l(e,r,{isTraining:!0}),[...(await this.#t.teacher?.profile()??[]).map(s=>({...s,label:`teacher's ${s.label}`})),...await this.#n.profile()]}#a(e,r={}){this.#l(e,0,r),this.#o.run()}async evaluateLosses(e){return this.#a(e),(await this.#e.read(this.#t.tensors.head.losses))[0]}async logProbabilities(e,r){if(y(r.every(s=>s<this.#u),"a position is outside the batch"),r.length===0)return new Float32Array;this.#a(e);let{config:o,tensors:n}=this.#t;return await wg(this.registry,{config:o,logits:n.head.logits,positions:r})}asTeacher(e){return{logits:this.#t.tensors.head.logits,softcap:this.config.softcap,weight:e,forward:r=>this.#a(r,{isTraining:!0}),profile:()=>this.#o.profile()}}destroy(){for(let e of this.#t.tensors.all)e.buffer.destroy()}get#u(){return this.extent.batchSize*this.extent.sequenceLength}#c(){let e=new Pe(this.registry,"forward and backward");wr(e,this.#t),Va(e,this.#t);let{head:r,lossSum:o}=this.#t.tensors;return lg(e,{x:r.losses,length:this.#u,out:o,accumulate:!0}),dg(e,this.#t),e}#l(e,r,o={}){let{config:n,extent:s}=this,i=this.#f(e,o);Gm(this.#e,this.#t.tensors.inputs,{config:n,extent:s,batch:e,weight:r,rows:i}),o.isTraining&&this.#t.teacher?.forward(e)}#f(e,r){if(!this.#s)return;let{sequenceLength:o}=this.extent,{isTraining:n=!1}=r,s=r.ofTokens??ho(e,this.#s,{sequenceLength:o,isTraining:n});if(!n||!this.#n)return{ofTokens:s};let i=this.#i.places(s);return{ofTokens:s,places:i,ofSlots:this.#i.rows}}};var Xa=class{gpu;config;members;state;hyper;constructor(e,r,o){this.gpu=e,this.config=r,this.members=o,this.state=new Map,this.hyper=e.tensor("AdamW numbers",[wo]);for(let{name:n,parameter:s}of o)for(let i of["exp_avg","exp_avg_sq"])this.state.set(`${n}.${i}`,e.tensor(`${n}.${i}`,s.shape))}add(e,r){for(let{name:o,parameter:n,gradient:s}of this.members){let i=Oe(n);rh(e,{parameter:n,gradient:s,...this.moments(o),hyper:this.hyper,clip:r,length:i})}}prepare(e,r){let{learningRate:o,beta1:n,beta2:s,epsilon:i,weightDecay:a}=this.config,u=th({learningRate:o*r.learningRate,beta1:n,beta2:s,epsilon:i,weightDecay:a*r.weightDecay,step:e+1});this.gpu.write(this.hyper,u)}moments(e){return{expAvg:D(this.state,`${e}.exp_avg`),expAvgSq:D(this.state,`${e}.exp_avg_sq`)}}},fs=class extends Xa{slotRows;constructor(e,r,o,n){super(e,r,o),this.slotRows=n;for(let{name:s,parameter:i}of o)this.state.set(`${s}.num_updates`,e.tensor(`${s}.num_updates`,[i.shape[0]]))}add(e,r){for(let{name:o,parameter:n,gradient:s}of this.members){y(this.slotRows,`${o} has no slots`);let[i,a]=s.shape;nh(e,{slotRows:this.slotRows,gradient:s,parameter:n,...this.moments(o),numUpdates:D(this.state,`${o}.num_updates`),hyper:this.hyper,clip:r,slots:i,width:a})}}prepare(e,r){super.prepare(0,r)}};function yg(t,e,r){let o=Math.round(e*r.warmupShare),n=o>0?(t+1)/o:1,s=r.schedule==="cosine",i=s?e-o:Math.round(e*r.decayShare),a=i>0?Math.max(0,Math.min(1,(e-t)/i)):1,u=s?(1-Math.cos(Math.PI*a))/2:a;return Math.min(1,n,r.finalRatio+(1-r.finalRatio)*u)}var F0=128,H0=32;function bg(t,e){let r=Math.min(e,F0);return{sequenceLength:r,batchSize:Math.min(H0,Sg(t,r).length)}}function vg(t,e,{batchSize:r,sequenceLength:o}){let n=Sg(t,o),s=[];for(let i=0;i<n.length;i+=r){let a=K0(n.slice(i,i+r),{batchSize:r,sequenceLength:o});s.push({batch:a,rows:ho(a,e,{sequenceLength:o,isTraining:!1})})}return s}function Sg(t,e){let r=[],o=0;for(let n of t){let s=mt(n,null);if(s>e)throw new b(`Cannot adapt: a measurement takes ${s} tokens, the model's sequence of ${e} or fewer were wanted; use a model with longer sequences`);s>o&&(r.push([]),o=e),r[r.length-1].push(n),o-=s}return r}function K0(t,{batchSize:e,sequenceLength:r}){let o=e*r,n={tokens:new Uint16Array(o),targets:new Uint16Array(o),lossMask:new Uint8Array(o),segmentStart:new Uint16Array(o)};for(let s=0;s<e;s++){let i=s*r,a=i;for(let u of t[s]??[]){let c=new Ue(n.tokens,a).write(u,Be);n.segmentStart.fill(a-i,a,a+c),n.targets.set(n.tokens.subarray(a+1,a+c),a),n.lossMask.fill(1,a+c-3,a+c-1),a+=c}n.segmentStart.fill(a-i,a,i+r)}return n}var G0={kind:"adamw",beta1:.9,beta2:.95,epsilon:1e-8,weightDecay:0},W0={schedule:"wsd",warmupShare:0,decayShare:1,finalRatio:.1},V0=4,Y0=1e30;async function kg(t,e,r,o){let n=[];try{return await J0(t,e,r,{...o,own:s=>n.push(s)})}finally{for(let s of n)s.destroy()}}async function J0(t,e,r,{own:o,...n}){let{gpu:s}=t,{width:i,sequenceLength:a}=e.config,u=r.free.length,c=bg(r.measurements,a),l=new Qa(r,e),f=X0(r,c,l),d=await ls.create(t,l.config(),{...c,training:!0,freeRows:u});o(d),d.load(l.weights());let p=D(d.parameters,ve),m=D(d.gradients,ve),h=new fs(s,{...G0,learningRate:n.learningRate},[{name:ve,parameter:p,gradient:m}],d.slotRows),g=s.tensorFrom("anchors",[u,i],l.starts),_=s.tensorFrom("largest drifts",[u],Float32Array.from(r.free,({isKnown:K})=>K?n.maxDrift:Y0)),x=s.tensorFrom("no clipping",[4],Float32Array.of(1,0,0,0));for(let{buffer:K}of[g,_,x,...h.state.values()])o(K);let A=new Pe(t,"update of rows");h.add(A,x),sh(A,{table:p,anchors:g,limits:_,rows:u,width:i}),await t.ready();let M=Math.ceil(f[0].length/V0),T=(K,Fe)=>K.filter((de,Sr)=>Sr%M===Fe%M),$=K=>{let Fe=K.reduce((de,{batch:Sr})=>de+Sr.lossMask.reduce((Uw,Zw)=>Uw+Zw,0)/2,0);d.zeroGradients();for(let{batch:de,rows:Sr}of K)d.accumulate(de,1/(2*Fe),Sr);return Fe},I=async()=>{let K=$(T(f[0],0));return(await s.read(d.lossSum))[0][0]/K},Z=await I();for(let K=0;K<n.steps;K++){n.signal?.throwIfAborted();let Fe=M===1?K:K+Math.floor(K/M);$(T(f[Fe%f.length],K));let de=yg(K,n.steps,W0);h.prepare(K,{learningRate:de,weightDecay:0}),A.run(),await s.finish(),n.onProgress?.(K+1)}let oe=await I(),Se=(await s.read(p))[0].slice(0,u*i),bt=sg(new Map([[ve,Se]]),og);if(bt)throw new b(`Cannot adapt: after the fit ${bt}; lower --learning-rate`);return{values:Se,lossBefore:Z,lossAfter:oe}}var Qa=class{starts;#e=new Map;#t;constructor({free:e},r){let{width:o}=r.config;this.#t=r,this.starts=new Float32Array(e.length*o),e.forEach(({row:n,start:s},i)=>{this.#e.set(n,i),this.starts.set(s,i*o)})}translate(e){return Uint32Array.from(e,r=>{if(r===P)return P;let o=this.#e.get(r)??this.#e.size;return this.#e.set(r,o),o})}config(){let e={rows:this.#e.size,seed:0,dropShare:0};return{...this.#t.config,prefixVectors:e,pairVectors:null,coordinates:null}}weights(){let{config:{width:e},weights:r}=this.#t,o=r.get(ve)??new Float32Array,n=new Float32Array(this.#e.size*e);for(let[u,c]of this.#e)n.set(o.subarray(u*e,(u+1)*e),c*e);n.set(this.starts);let s=new Float32Array(2*this.#e.size),i=new Map(r).set(ve,n).set(ze,s),a=Tn(this.config());return new Map([...i].filter(([u])=>a.has(u)))}};function X0(t,e,r){let{measurements:o,addressRows:n}=t,s=n.config.prefixVectors?.rows??0,a=(o.some(({timeS:u})=>u!==null)?[0,1]:[0]).map(u=>{let c=o.map((l,f)=>f%2===u?l:{...l,timeS:null});return vg(c,n,e).map(({batch:l,rows:f})=>({batch:l,rows:r.translate(f),withoutPairs:r.translate(f.map(d=>d>=s?P:d))}))});return!n.config.pairVectors||s===0?a:[...a,...a.map(u=>u.map(({batch:c,withoutPairs:l})=>({batch:c,rows:l})))]}var Q0=50;async function Eg(t,e,{addresses:r,adaptedNodes:o,signal:n,onLocated:s}){let{coordinates:i}=t,a=new Map;if(!i)return new Uint32Array;let u=[...eS(e,r)].map(d=>({...d,node:t.nodeOf(d.address)})).filter(({node:d})=>o.has(d)||!i.hasPlace(d)),c=new Set(u.map(({node:d})=>d)),l=[],f=performance.now();for(let[d,{address:p,rttsMs:m}]of u.entries()){performance.now()-f>Q0&&(await new Promise(_=>setTimeout(_,0)),f=performance.now()),n?.throwIfAborted();let h=[...m.values()].map(({other:_,ms:x})=>({node:t.nodeOf(_),rttMs:tS(x)})),g=i.locate(h,c);g&&l.push({address:p,place:g}),s?.(d+1,u.length)}for(let{address:d,place:p}of l){let m=t.claimNode(d);m!==P&&a.set(m,p)}return i.put(a),Uint32Array.from(a.keys()).sort()}function eS(t,e){let r=new Map;for(let{source:o,destination:n,rttCode:s}of t)for(let[i,a]of[[o,n],[n,o]]){let u=Ee(i),c=Ee(a);if(s===null||u===c||!e.has(u))continue;let{rttsMs:l}=r.getOrInsertComputed(u,()=>({address:i,rttsMs:new Map}));l.getOrInsertComputed(c,()=>({other:a,ms:[]})).ms.push(tn(s))}return r.values()}function tS(t){return t.toSorted((e,r)=>e-r)[t.length-1>>1]}function Ag(t){let e=t.flatMap(({source:r,destination:o})=>[r,o]);return new Map(e.map(r=>[Ee(r),r]))}function rS({source:t,destination:e},r){return r.has(Ee(t))||r.has(Ee(e))}function Tg(t,e,r=new Set){let o=eu(t);return[...Ag(e)].filter(([,n])=>{let s=o.rowOfAddress(n);return s===P||r.has(s)}).map(([n])=>n)}async function zg(t,e,r){let{addresses:o,adapted:n,...s}=r,i=eu(t),a=eu(t),u=new Map,c=[],l=[],f=Ag(e),d=sS(t),p=[...f.values()].map(g=>({address:g,row:i.rowOfAddress(g)})).filter(({row:g})=>g!==P),m=(g,_,x)=>{g===P||u.has(g)||u.set(g,{row:g,isKnown:!_&&!n.rows.has(g),start:x??d(g)})};for(let[g,_]of f){if(!o.has(g))continue;let x=i.rowOfAddress(_)===P,A=a.rowOfAddress(_,{claims:!0});m(A,x,x?oS(_,p,d):void 0),(A===P?c:l).push(g)}let h=e.filter(g=>rS(g,o));for(let{source:g,destination:_}of h){let x=i.rowOfPair(g,_)===P;m(a.rowOfPair(g,_,{claims:!0}),x)}return{addressRows:a,free:[...u.values()],measurements:h,addresses:l,withoutRow:c,located:await Eg(a,h,{...s,addresses:o,adaptedNodes:n.nodes})}}function oS(t,e,r){let o=e.filter(u=>u.address.length===t.length),n=o.map(u=>nS(u.address,t)),s=n.reduce((u,c)=>Math.max(u,c),0),i=o.filter((u,c)=>n[c]===s);if(i.length===0)return;let a=new Float64Array(r(i[0].row).length);for(let{row:u}of i)r(u).forEach((c,l)=>a[l]+=c);return Float32Array.from(a,u=>u/i.length)}function nS(t,e){let r=t.findIndex((o,n)=>o!==e[n]);return r<0?t.length:r}function eu({config:t,weights:e}){let r=new wt(t);return r.load(e),r}function sS({config:{width:t},weights:e}){let r=D(e,ve);return o=>r.slice(o*t,(o+1)*t)}var iS={steps:20,learningRate:.1,maxDrift:1};async function Og(t,e,r,o={}){aS(e);let n=r.filter(({rttCode:g})=>g!==null),{adapted:s={rows:new Set,nodes:new Set},addresses:i=Tg(e,n,s.rows),onLocated:a,...u}=o,c=await zg(e,n,{addresses:new Set(i),adapted:s,signal:u.signal,...a&&{onLocated:a}}),l=r.length-n.length,f={addresses:c.addresses,withoutRow:c.withoutRow,numFailed:l};if(c.free.length===0){let g=$g(e,c,new Float32Array);return{...f,delta:g,numMeasurements:0,lossBefore:null,lossAfter:null}}let{values:d,lossBefore:p,lossAfter:m}=await kg(t,e,c,{...iS,...u}),h=$g(e,c,d);return{...f,delta:h,numMeasurements:c.measurements.length,lossBefore:p,lossAfter:m}}function $g({config:t,weights:e},r,o){let{width:n}=t;for(let{source:a,destination:u,rttCode:c,timeS:l}of r.measurements)c!==null&&r.addressRows.remember(r.addressRows.rowOfPair(a,u),{rttCode:c,timeS:l});let s=D(e,ve).slice();r.free.forEach(({row:a},u)=>s.set(o.subarray(n*u,n*(u+1)),n*a));let i=new Map(e).set(ve,s);return r.addressRows.save(i),tg(t,i,Uint32Array.from(r.free,({row:a})=>a).sort(),r.located)}function aS({config:t,weights:e}){if(!(be(t)>0&&e.has(ze)))throw new b(`Cannot adapt the model: it has no rows of addresses, one with them was wanted; train one with --set 'model.prefixVectors={"rows":65536}'`)}var ds=class{config;weights;rows;nodes;constructor(e,r,o){this.config=e,this.weights=r,this.rows=new Set(o?.rows),this.nodes=new Set(o?.nodes)}async fit(e,r,o){let n=await Og(e,this,r,{...o,adapted:this});this.weights=eg(this.config,this.weights,n.delta);for(let s of n.delta.rows)this.rows.add(s);for(let s of n.delta.coordinates.nodes)this.nodes.add(s);return n}};async function Pg(t,e){let r=t.onSubmittedWorkDone(),o=performance.now();return await r,((Symbol.for("Deno.privateCustomInspect")in t?o:performance.now())-e)/1e3}var uS=["maxStorageBufferBindingSize","maxBufferSize","maxComputeWorkgroupStorageSize","maxComputeInvocationsPerWorkgroup","maxComputeWorkgroupSizeX","maxStorageBuffersPerShaderStage"],Rg=/llvmpipe|lavapipe|swiftshader|warp|basic render/i,tu=new Set;globalThis.addEventListener("unload",()=>bo.blockUntilIdle());var bo=class t{device;info;#e;#t;#r;constructor(e,r){this.device=e,this.info=r,this.#r=0,tu.add(new WeakRef(this)),e.lost.then(o=>this.#e=o.message||"device lost"),e.addEventListener("uncapturederror",o=>{o.preventDefault(),this.#t??=o.error.message})}static async open(e={}){let r=await navigator.gpu?.requestAdapter({powerPreference:"high-performance"});if(!r)throw new b("Cannot use WebGPU: no adapter was found, a GPU or software driver was wanted; run sh setup.sh to install one");if(cS(r))throw new b(`Cannot use WebGPU: no adapter was found besides OpenGL in software (${r.info.description}), a Vulkan driver was wanted; run sh setup.sh to install one`);let o={};for(let d of uS)o[d]=r.limits[d];let n=e.subgroups??!0?await ru(r,o,["subgroups"])??await ru(r,o,[]):await ru(r,o,[]);if(!n)throw new b("Cannot use WebGPU: the adapter gives no device; close other GPU programs and retry");let s=n.features.has("subgroups"),i=r.info,{description:a,vendor:u,subgroupMinSize:c,subgroupMaxSize:l}=i,f=a||i.device||`${u} ${i.architecture}`.trim()||"unnamed adapter";return new t(n,{name:f,vendor:u,subgroupSize:s&&c===l?c:void 0,enablesSubgroups:s&&r.features.has("subgroups"),isSoftware:Rg.test(`${f} ${a} ${u}`)})}tensor(e,r,o="f32"){let n=Bn(r,o),s=this.device.createBuffer({label:e,size:n,usage:GPUBufferUsage.STORAGE|GPUBufferUsage.COPY_SRC|GPUBufferUsage.COPY_DST});return this.#r+=n,{label:e,shape:[...r],dtype:o,offsetBytes:0,buffer:s}}get allocatedBytes(){return this.#r}tensorFrom(e,r,o){let n=this.tensor(e,r);return this.write(n,o),n}write(e,r){y(r.byteLength<=Ve(e),`${r.byteLength} bytes do not fit ${e.label}`),this.device.queue.writeBuffer(e.buffer,e.offsetBytes,r)}async read(...e){return(await this.#n(e)).map((r,o)=>e[o].dtype==="f16"?Float32Array.from(new Float16Array(r)):new Float32Array(r))}async readUint32(e){return new Uint32Array((await this.#n([e]))[0])}async finish(){await this.device.queue.onSubmittedWorkDone(),this.check()}get fault(){return this.#e?`the GPU device was lost (${this.#e})`:this.#t&&`WebGPU: ${this.#t}`}check(){if(this.#e)throw new b(`Cannot go on: ${this.fault}; run again`);if(this.#t)throw new Error(`Internal error: ${this.fault}`)}async timeS(e){let r=performance.now();return e(),await Pg(this.device.queue,r)}close(){this.#o(),this.device.destroy()}static blockUntilIdle(){for(let e of tu){let r=e.deref();r?r.#o():tu.delete(e)}}#o(){this.#e||this.device.queue.onSubmittedWorkDone().catch(()=>{})}[Symbol.dispose](){this.close()}async#n(e){let r=[],o=0;for(let s of e)r.push(o),o+=Math.ceil(Ve(s)/16)*16;let n=this.device.createBuffer({label:"readback",size:Math.max(16,o),usage:GPUBufferUsage.MAP_READ|GPUBufferUsage.COPY_DST});try{let s=this.device.createCommandEncoder({label:"readback"});e.forEach((u,c)=>s.copyBufferToBuffer(u.buffer,u.offsetBytes,n,r[c],Math.ceil(Ve(u)/4)*4)),this.device.queue.submit([s.finish()]),await n.mapAsync(GPUMapMode.READ).catch(async u=>{throw await this.finish(),u});let i=n.getMappedRange(),a=e.map((u,c)=>i.slice(r[c],r[c]+Ve(u)));return this.check(),a}finally{n.destroy()}}};function cS(t){return t.limits.maxBindingsPerBindGroup===4294967295&&Rg.test(`${t.info.description} ${t.info.vendor}`)}async function ru(t,e,r){try{return await t.requestDevice({requiredLimits:e,requiredFeatures:r})}catch{return}}var ou="//! ";function qe(t,e){return`${ou}${t}
${e}`}function nu(t){return t.replace(/\/\/(?!!).*$/gm,"")}function ps(t,e,r,o){let n=e.split(`
`).slice(0,r-1),s=n.findLastIndex(a=>a.startsWith(ou)),i=n[s]?.slice(ou.length);return new C(t,o,r-1-s,i)}function Mg(t,e){let r=nu(e),o=[...r.matchAll(/@group\((\d+)\)\s*@binding\((\d+)\)\s*var<([^>]*)>\s*(\w+)/g)].map(([,i,a,u,c])=>{if(i!=="0")throw new C(t,`binding ${c} is in group ${i}, 0 was wanted`);let[l,f="read"]=u.split(",").map(d=>d.trim());return{name:c,index:Number(a),access:l==="uniform"?"uniform":f}}),s=(/struct\s+Params\s*\{([^}]*)\}/.exec(r)?.[1]??"").split(",").map(i=>i.trim()).filter(Boolean).map(i=>{let a=/^(\w+)\s*:\s*(u32|i32|f32)$/.exec(i);if(!a)throw new C(t,`field "${i}" of Params is not NAME: u32 | i32 | f32`);return{name:a[1],type:a[2]}});return{bindings:o,params:s,overrides:[...r.matchAll(/^\s*override\s+(\w+)/gm)].map(i=>i[1]),usesLanes:/\b(lane_sum|lane_max|LANES)\b/.test(r),usesSubgroups:/\bsubgroup[A-Z]\w*\s*\(/.test(r)}}var lS=`
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
`;function Ng(t,e,r){return r.length===0?e:r.reduce((n,s)=>Lg(t,fS(t,n,s),s),nu(e))+lS}function fS(t,e,r){let o=new RegExp(`(var<storage[^>]*>\\s*${r}\\s*:\\s*)array<vec4f>`);if(!o.test(e))throw new C(t,`${r} is no array of vec4f, it cannot be bound to an f16 tensor`);return e.replace(o,"$1array<vec2u>")}function Lg(t,e,r,o=""){let n="",s=0;for(let i of e.matchAll(new RegExp(`(?<![\\w.])${r}\\b(?!\\s*:\\s*array<vec2u>)`,"g"))){if(i.index<s)continue;let a=i.index+r.length;if(e[a]!=="["){let f=o+e.slice(0,a),d=`${r} is used in another way than ${r}[i], it cannot be f16`;throw ps(t,f,f.split(`
`).length,d)}let u=Ig(e,a+1,"]"),c=e.slice(i.index,u+1),l=/^\s*([-+*/]?)=(?!=)\s*/.exec(e.slice(u+1));if(n+=e.slice(s,i.index),l){let[f,d]=l,p=u+1+f.length;s=Ig(e,p,";");let m=Lg(t,e.slice(p,s),r,o+e.slice(0,p)),h=d?`unpack_half(${c}) ${d} (${m})`:m;n+=`${c} = pack_half(${h})`}else s=u+1,n+=`unpack_half(${c})`}return n+e.slice(s)}function Ig(t,e,r){let o=0;for(let n=e;n<t.length;n++){if(o===0&&t[n]===r)return n;"([{".includes(t[n])&&o++,")]}".includes(t[n])&&o--}return t.length}var Cg=`// Prelude of the row kernels where the adapter has subgroups: a workgroup is exactly one subgroup of LANES lanes.
//   lane_sum(x, lane) = sum of x over the workgroup's lanes, the same value in every lane; lane_max likewise.
// LANES is written before this text by the registry. Calls must be in uniform control flow.
fn lane_sum(x: f32, lane: u32) -> f32 {
  return subgroupAdd(x);
}

fn lane_max(x: f32, lane: u32) -> f32 {
  return subgroupMax(x);
}
`;var Dg=`// Prelude of the row kernels where the adapter has no subgroups: a tree in workgroup memory, a fixed order.
//   lane_sum(x, lane) = sum of x over the workgroup's lanes, the same value in every lane; lane_max likewise.
// LANES (a power of two) is written before this text by the registry. Calls must be in uniform control flow.
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
`;var Bg=`// y[r, :] = x[r, :] / sqrt(mean(x[r, :]^2) + eps), eps = 2^-23 (the epsilon of float32), no learned scale.
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
`;var Ug=`// What becomes of a matrix product p on its way out: STORE c = p; ACCUMULATE c += p; ADD c = d + p; ACTIVATE c = f(p);
// ACTIVATE_KEEP e = p too; SLOPE c = p f'(d); with f relu(x)^2 (ACTIVATION 0), GELU by its tanh form (1), SiLU
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

// 4 columns of a row of the matrix that starts at c[first]; nothing where the matrix has ended.
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
  // One store for all: each takes the compiler of lavapipe a tenth of a second.
  c[at] = result;
}

// Of a symmetric product, whose tiles above the diagonal are left out: on how many sides of it a tile is stored.
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
`;var Zg=`// One step of AdamW: g = clip gradient; m += (1 - beta1) (g - m); v += (1 - beta2) (g^2 - v);
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
`;var jg=`// One step of AdamW for some rows of a table, the others are left as they are. For slot s < slot_rows[0], of row
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
`;var qg=`// x[r, :] += sum over k < ROWS_PER_TOKEN of table[indexes[r ROWS_PER_TOKEN + k], :], of the indexes below table_rows
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
`;var Fg=`// From the sum of squares of all gradients, what the optimizer does with this step:
//   out[0] = min(1, max_norm / norm), or 0 if the norm is not finite: the step is to be skipped;
//   out[1] = norm = sqrt(sum_of_squares); out[2] += 1 if skipped; out[3] = skipped steps in a row up to now.
// If SCALED, the gradients are loss_scale[0] times too large: norm and out[0] are divided by it. A skipped step halves
// it, down to min_scale; growth_steps steps in a row that are not skipped double it, up to max_scale. While it is larger
// than min_scale, skipped steps are not counted in out[3]: the next one has another scale.
// Source: Pascanu et al., On the difficulty of training recurrent neural networks, ICML 2013, algorithm 1; Micikevicius
//   et al., Mixed Precision Training, ICLR 2018, section 3.2 (loss scaling).
// Bindings: sum_of_squares (1) read; out (4) read and write; loss_scale (2) read and write if SCALED: the scale, a power
//   of 2, and how many steps in a row were not skipped since it was set.
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
`;var Hg=`// y = x, between tensors that are stored differently: the f16 copies of weights.
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
`;var Kg=`// d_table[v, :] += sum over the rows r with tokens[r] == v of dx[r, :]
// Bindings: token_rows (V + 1 + rows) read: the rows in the order of their tokens, those of token v at the places
//   token_rows[v] .. token_rows[v + 1] - 1; dx (rows, width) read; d_table (V, width) read and write.
// Grid: x = V, y = ceil(width / (16 LANES)): a workgroup of LANES lanes has one token and 4 vec4 columns a lane.
// Numerics: f32, rows ascending; no atomics, so the same bits at every run.
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
`;var Gg=`// x[r, :] = table[tokens[r], :]
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
`;var Wg=`// C = op(A) op(B), added to something or through an activation on its way out, where op transposes or not.
// For adapters whose subgroups have exactly 8 lanes (lavapipe on AVX2): a load costs there 40 times a vector fma and a
// subgroupBroadcast about as much as one, so each lane loads a 4 x 4 block of A and one of B per 4 steps of k, and the
// blocks of A are spread by broadcast. Measured on 2 cores of lavapipe (Mesa 25.0): see lib/gpu/ops/gemm.ts.
// Bindings: a, op(A) (m, k), stored (k, m) if TRANSPOSE_A, read; b, op(B) (k, n), stored (n, k) if TRANSPOSE_B, read;
//   d (m, n) read, used by ADD and SLOPE; c (m, n) write, also read by ACCUMULATE; e (m, n) write, of ACTIVATE_KEEP. Of a
//   batch, matrix z of each starts z times its stride (in vec4) after the first.
// Epilogues: see gemm_epilogue.wgsl, which stands before this text.
// Grid: x = ceil(n / 32) column tiles, y = ceil(m / 32) row tiles, z = matrices of the batch; one subgroup of 8 lanes a tile, lane l owns the columns
//   4 l .. 4 l + 3 of all 32 rows; s[i] is the rows 4 i .. 4 i + 3, a matrix whose column j is row 4 i + j.
// Numerics: f32, four products are summed, then added to the accumulator, k ascending. Loads are clamped into the matrix;
//   what they duplicate is not stored, or multiplied by 0 where k is not a multiple of 4. (Without the clamps it is slower.)
//   If symmetric == 1, C = C^T is known: tiles below the diagonal are stored on both sides of it, those above left out.
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
  // A bound unknown to the compiler: unrolled, the stores take it 4 s instead of 0.5 s.
  let blocks = min((params.m - row + 3u) / 4u, 8u);
  for (var side = 0u; side < num_sides(group); side++) {
    for (var i = 0u; i < blocks; i++) {
      store4(group.z * params.stride_c, side, row + i * 4u, column4, s[i]);
    }
  }
}
`;var Vg=`// C = op(A) op(B), added to something or through an activation on its way out, where op transposes or not; for any adapter.
// A tile of C a workgroup: 16 steps of k of A and B go through workgroup memory, each thread owns 8 x 8 elements of C.
// Source: the register-blocked SGEMM of Volkov and Demmel, Benchmarking GPUs to Tune Dense Linear Algebra, SC 2008.
// Bindings: a, op(A) (m, k), stored (k, m) if TRANSPOSE_A, read; b, op(B) (k, n), stored (n, k) if TRANSPOSE_B, read;
//   d (m, n) read, used by ADD and SLOPE; c (m, n) write, also read by ACCUMULATE; e (m, n) write, of ACTIVATE_KEEP. Of a
//   batch, matrix z of each starts z times its stride (in vec4) after the first.
// Epilogues: see gemm_epilogue.wgsl, which stands before this text.
// Grid: x = ceil(n / TILE) column tiles, y = ceil(m / TILE) row tiles, z = splits of the matrices of the batch, where split s
//   of matrix i is z = i splits + s, has the steps s split_k .. of k and stores into matrix z of c; (TILE / 8)^2 threads; thread (tx, ty) owns the
//   rows 8 ty .. 8 ty + 7 and the columns 4 tx .. 4 tx + 3 and TILE / 2 + 4 tx ..: neighbours read neighbouring words.
// Numerics: f32, fma, k ascending. Loads are clamped into the matrix, those beyond k are multiplied by 0; what lies
//   beyond m and n is not stored. The next 16 steps of k are fetched while the present ones are multiplied.
//   If symmetric == 1, C = C^T is known: tiles below the diagonal are stored on both sides of it, those above left out.
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
  // The TILE x 16 elements of each matrix are TILE4 x 4 blocks, of which each thread carries at most one.
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
`;var Yg=`// g = clip gradient; momentum += (1 - mu) (g - momentum); x = g + mu (momentum - g): Nesterov's momentum as Muon has it.
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
`;var Jg=`// y = x / max(norm, epsilon) for each matrix of a stack, norm = sqrt(sum_of_squares): the Frobenius norm bounds the largest singular value by 1.
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
`;var Xg=`// parameter = parameter (1 - lr decay) - lr shape_factor x; nothing changes if clip == 0.
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
`;var Qg=`// losses[r] = -log softmax(z[r, :])[targets[r]] where loss_mask[r] != 0, else 0, with z = s tanh(logits / s) if SOFTCAP,
// else z = logits; and if GRADIENT, d_logits[r, :] = weight[0] * the gradient of losses[r], times loss_scale[0] if SCALED.
// Columns from vocab_size on are padding: they are not read into the softmax and their gradient is 0. Probabilities are
// not stored.
// Where loss_mask[r] is 2 or 3, d_logits is marked_weight times that; the loss that is written is not.
// If TAUGHT, where loss_mask[r] is 2 or 3, the gradient is (1 - teacher_weight) times that of the data, the term below
// included, plus teacher_weight times that of the cross-entropy to q = softmax(z of teacher_logits[r, :]), whose s is
// teacher_softcap, 0 for none.
// Where loss_mask[r] is 2 or 3 and ordinal_2 or ordinal_3 is not 0, d_logits also has ordinal_i times the gradient of
// sum_j q_j |j - target| / 255, q the softmax over the 256 columns from first_byte on: the Wasserstein-1 distance between
// q and the target's point mass. The loss that is written stays the cross-entropy.
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
    // All bytes together can be less than a float32 knows; the term is 0 then.
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
`;var ew=`// Keeps rows of a table near where they were: for row r < params.rows, d = table[r, :] - anchors[r, :]; where |d| >
//   limits[r], table[r, :] = anchors[r, :] + d limits[r] / |d|.
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
`;var tw=`// out[i, :] = log softmax(z[r, :]), r = row_index[i], with z = s tanh(logits / s) if SOFTCAP, else z = logits; columns from
// vocab_size on are padding and left out.
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
`;var rw=`// dx of y = rope(norm(x)) for each head, given dy: dz is dy turned back, dx = s (dz - x s^2 mean(x dz)), or dz if not NORM.
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

// The gradient by the normalised x.
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
`;var ow=`// y = rope(norm(x)) of each head: norm(x) = s x with s = 1 / sqrt(mean(x^2) + eps) over its D dims, or s = 1 if not NORM;
// rope turns each pair (x[i], x[i + D / 2]) by the angle t * 10000^(-2 i / D), t = row % sequence_length.
// Source: Su et al., RoFormer, 2021, equation 34, with halves in the place of neighbours as in GPT-NeoX; Henry et al.,
// Query-Key Normalization for Transformers, 2020, with rmsNorm.
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
`;var nw=`// dx of y = shift_keys(x, x): a row's shifted quarters went to the rows that it is the previous one of, itself or the next.
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
`;var sw=`// y = x, but for the 2nd and the 4th quarter of each head, which come from another token:
// y[r, h, d] = earlier[previous[r], h, d] there.
// Source: the "partial key offset" of modded-nanogpt (github.com/KellerJordan/modded-nanogpt, records of 2025): a key
//   that holds some of the token before it lets one block look up what followed a token (Olsson et al., In-context
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
`;var iw=`// c = the sum of the splits of a matrix product, or c += it, for products whose steps of k are divided over workgroups.
// Bindings: partials (splits, length) read; c (length) write, also read if accumulate == 1.
// Grid: workgroups of 64 threads over length / 4 vec4, BATCH of them a thread, 64 apart.
// Numerics: f32, splits ascending, so the same bits at every run.
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
`;var aw=`// partials[first + g] = the sum of x (or of x^2 if SQUARE) over the g-th of num_partials equal parts of x.
// First of two passes: parts by workgroups, then their sum by a second dispatch of this kernel with one workgroup.
// Of a batch, row z of x is summed alike, its partials following those of row z - 1.
// Bindings: x (batch, length) read; partials write, from \`first\` on num_partials a row, added to if accumulate == 1.
// Grid: num_partials workgroups of LANES lanes, by gridOf, times z = batch. Numerics: f32; per lane, then over lanes: a fixed order.
// Limits: x has room for a multiple of 4 elements (every tensor has); what is beyond length is not counted.
//   Of a batch of several rows, length % 4 == 0.
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
`;var uw=`// dx[r, :] (+)= s (dy[r, :] - x[r, :] s^2 mean(x[r, :] dy[r, :])) for y = s x, s = 1 / sqrt(mean(x^2) + eps).
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
// Columns / 4 of a lane that stay in registers between the sum and the result; those beyond are read twice.
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
`;var cw=`// dv[j] = sum_t p[t, j] d_out[t] and dk[j] = sum_t ds[t, j] q[t] / sqrt(D) over the queries t that see key j, those with
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

// Of the tile's queries.
struct Queries { t: vec4u, start: vec4u, log2_sum: vec4f, delta: vec4f }

// Of the lane's key n: turns the scores into weights, and the gradients of the weights into those of the scores,
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
`;var lw=`// dv[j] = sum_t p[t, j] d_out[t] and dk[j] = sum_t ds[t, j] q[t] / sqrt(D) over the queries t that see key j, those with
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

// Of each query of the tile; past the sequence's end, a start that no key reaches.
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
`;var fw=`// dq[t] = sum_j ds[t, j] k[j] / sqrt(D) with ds[t, j] = p[t, j] (d_out[t] . v[j] - delta[t]), p[t, j] =
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
`;var dw=`// dq[t] = sum_j ds[t, j] k[j] / sqrt(D) with ds[t, j] = p[t, j] (d_out[t] . v[j] - delta[t]), p[t, j] =
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
`;var pw=`// out[r] = sum_j p[r, j] v[j], p[r, :] = softmax(q[r] . k[j] / sqrt(D)) for each head, where row r attends to the keys of
// its prompt (shared by all rows that continue the prompt, stored once) and to those of its own suffix so far.
// Source: as attention_forward_subgroup8.wgsl; the shared prefix as in Juravsky et al., Hydragen: High-Throughput LLM
// Inference with Shared Prefixes, 2024. For adapters whose subgroups have exactly 8 lanes (lavapipe): each lane owns whole
// rows; the prompt's keys come in tiles of 4 (attention_slots_subgroup8.wgsl, attention_softmax_subgroup8.wgsl), a row's
// own keys one by one.
// Bindings: q (N, H, D) read; k, v (P, H, D) read; suffix_k, suffix_v (M, H, D) read: keys that rows
//   appended; suffix_rows (S, N) read: which of these is each row's at each step, the newest last; tiles (x) read: rows
//   of one prompt as (first key, end of the keys, first row, end of the rows), the ends outside; out (N, H, D) write.
// Grid: x = tiles, y = H; one subgroup a tile; row n of lane l is 8 n + l of the tile; a tile without rows is skipped.
// Numerics: f32, exponentials of base 2, keys ascending, running maximum subtracted.
// Limits: D is 32, 64 or 128; a tile has at most 1024 / D rows and at least one key; S >= num_steps.
struct Params { num_rows: u32, num_heads: u32, num_steps: u32, slot_parts: u32 }

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<storage, read> suffix_k: array<vec4f>;
@group(0) @binding(4) var<storage, read> suffix_v: array<vec4f>;
@group(0) @binding(5) var<storage, read> suffix_rows: array<u32>;
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
    let visible = key + vec4u(0u, 1u, 2u, 3u) < vec4u(rows.y);
    var tile = Tile();
    load_key(0u, source, &tile);
    load_key(1u, source, &tile);
    load_key(2u, source, &tile);
    load_key(3u, source, &tile);
    var s = score(&own, &tile);
    weights(0u, visible, &s, &softmax, &sum);
    weights(1u, visible, &s, &softmax, &sum);
    weights(2u, visible, &s, &softmax, &sum);
    weights(3u, visible, &s, &softmax, &sum);
    load_value(0u, source, &tile);
    load_value(1u, source, &tile);
    load_value(2u, source, &tile);
    load_value(3u, source, &tile);
    weigh(&s, &tile, &sum);
  }
  var result = sum;
  for (var step = 0u; step < params.num_steps; step++) {
    let of_step = row + step * params.num_rows;
    let suffix = head0 + stride * vec4u(
      suffix_rows[of_step.x], suffix_rows[of_step.y], suffix_rows[of_step.z], suffix_rows[of_step.w]);
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
`;var mw=`// out[r] = sum_j p[r, j] v[j], p[r, :] = softmax(q[r] . k[j] / sqrt(D)) for each head, where row r attends to the keys of
// its prompt (shared by all rows that continue the prompt, stored once) and to those of its own suffix so far.
// Source: as attention_forward_tiled.wgsl; the shared prefix as in Juravsky et al., Hydragen: High-Throughput LLM
// Inference with Shared Prefixes, 2024. For any adapter; slices and tiles of the prompt's keys are in
// attention_slices_tiled.wgsl, a row's own keys come one by one.
// Bindings: q (N, H, D) read; k, v (P, H, D) read; suffix_k, suffix_v (M, H, D) read: keys that rows
//   appended; suffix_rows (S, N) read: which of these is each row's at each step, the newest last; tiles (x) read: rows
//   of one prompt as (first key, end of the keys, first row, end of the rows), the ends outside; out (N, H, D) write.
// Grid: x = tiles, y = H; 64 threads a tile; a tile without rows is skipped.
// Numerics: f32, exponentials of base 2, keys ascending, running maximum subtracted.
// Limits: D is 32, 64 or 128; a tile has at most 2048 / D rows and at least one key; S >= num_steps.
struct Params { num_rows: u32, num_heads: u32, num_steps: u32, slice_parts: u32, tile_rows: u32 }

@group(0) @binding(0) var<storage, read> q: array<vec4f>;
@group(0) @binding(1) var<storage, read> k: array<vec4f>;
@group(0) @binding(2) var<storage, read> v: array<vec4f>;
@group(0) @binding(3) var<storage, read> suffix_k: array<vec4f>;
@group(0) @binding(4) var<storage, read> suffix_v: array<vec4f>;
@group(0) @binding(5) var<storage, read> suffix_rows: array<u32>;
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
      new_largest = max(new_largest, select(MASKED, first_dot(j, thread), key + j < rows.y));
    }
    let shrink = exp2(largest - new_largest);
    largest = new_largest;
    sum *= shrink;
    for (var i = 0u; i < params.slice_parts; i++) { weighted.part[i] *= shrink; }
    for (var j = 0u; j < params.tile_rows; j++) {
      let weight = select(0f, exp2(first_dot(j, thread) - largest), key + j < rows.y);
      sum += weight;
      add_slice(&weighted, weight, TILE_PARTS + j * (HEAD_DIM / 4u) + slice);
    }
  }
  for (var step = 0u; step < params.num_steps; step++) {
    let suffix = head0 + suffix_rows[step * params.num_rows + row] * stride + slice;
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
`;var hw=`// out[t] = sum_j p[t, j] v[j], p[t, :] = softmax(q[t] . k[j] / sqrt(D)) over segment_start[t] <= j <= t, for each head;
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

// Which of the 4 keys from first_key on the query at t of a segment sees.
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
`;var gw=`// out[t] = sum_j p[t, j] v[j], p[t, :] = softmax(q[t] . k[j] / sqrt(D)) over segment_start[t] <= j <= t, for each head;
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
`;var ww=`// What the attention kernels for any adapter share; lib/gpu/kernels.ts appends it to each of them.
// A workgroup has 64 threads; a thread owns a slice of 32 dims of one row (query, or key): thread i slice i % SLICES of row
// i / SLICES, where D = 32 SLICES. The other side comes in tiles of 512 / D rows of two matrices (keys and values, or
// queries and the gradients of outputs) in workgroup memory, where the parts of dot products meet too.
// Loops have bounds from params (slice_parts is always 8): Mesa would unroll them, and compile for a minute.
// Limits: D is 32, 64 or 128; 12 KiB of workgroup memory.
override HEAD_DIM: u32 = 32u;
override SLICES: u32 = HEAD_DIM / 32u;

const THREADS = 64u;
const TILE_PARTS = 128u;

// 32 dims of a row.
struct Slice { part: array<vec4f, 8> }

// Matrix m, row r, dims 4 d to 4 d + 3 at TILE_PARTS m + r D / 4 + d.
var<workgroup> tile: array<vec4f, 256>;
// Of row r of the tile and thread i, at 64 r + i: the dot product of its slices with those of the first matrix \u2026
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

// The dot product of whole rows: of the thread's with the tile's row \`row\` of the first matrix.
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
`;var _w=`// What the attention kernels for subgroups of 8 lanes share; lib/gpu/kernels.ts appends it to each of them.
// A lane owns whole rows (queries, or keys) in 4 slots of 32 dims: slot i is slice i % SLICES of row i / SLICES, so it
// owns 4, 2 or 1 rows of D = 32, 64 or 128. The other side comes in tiles of 4 rows, loaded half a row a lane, and is
// spread by subgroupBroadcast, about as cheap on lavapipe as one vector fma, where a load costs 40. Everything is
// unrolled by hand: Mesa unrolls no loop of this size, and an array indexed by a variable is 10 times slower.
// Limits: D is 32, 64 or 128.
override HEAD_DIM: u32 = 32u;
override SLICES: u32 = HEAD_DIM / 32u;

// Four slots of 32 dims: vec4 d of slot i at 8 i + d.
struct Slots { part: array<vec4f, 32> }

// A tile of 4 rows: lane l holds of row l % 4 the first (l < 4) or second half of each slice of 32 dims.
struct Tile { slice: array<mat4x4f, 4> }

// For each of the lane's rows: a number for each of the tile's rows.
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
`;var xw=`// What the forward attention kernels for subgroups of 8 lanes share besides attention_slots_subgroup8.wgsl: loads of tiles
// of the bindings k and v, and the running softmax of a lane's rows; lib/gpu/kernels.ts appends it to each of them.
// Source: Milakov and Gimelshein, Online normalizer calculation for softmax, 2018.
// Limits: D is 32, 64 or 128.
const LOG2_E = 1.4426950408889634f;
// Below every score, and finite, so that the difference of two is not NaN.
const MASKED = -1e30f;

// Of each of the lane's rows: the largest score so far, the sum of 2^(score - largest).
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
`;var vw=qe("lanes_subgroup",Cg),Sw=qe("lanes_workgroup",Dg),yw=qe("gemm_epilogue",Ug),ms=qe("attention_slices_tiled",ww),hs=qe("attention_slots_subgroup8",_w),bw=qe("attention_softmax_subgroup8",xw),kw={cross_entropy:Qg,log_probabilities:tw,qk_norm_rope_backward:rw,qk_norm_rope_forward:ow,rms_norm_forward:Bg,adamw:Zg,adamw_rows:jg,add_rows:qg,clip_factor:Fg,copy:Hg,embedding_backward:Kg,embedding_forward:Gg,gemm_subgroup8:yw+qe("gemm_subgroup8",Wg),gemm_tiled:yw+qe("gemm_tiled",Vg),limit_rows:ew,muon_momentum:Yg,muon_normalize:Jg,muon_update:Xg,reduce_partials:aw,shift_keys_backward:nw,shift_keys_forward:sw,sum_splits:iw,rms_norm_backward:uw,attention_backward_key_subgroup8:cw+hs,attention_backward_key_tiled:lw+ms,attention_backward_query_subgroup8:fw+hs,attention_backward_query_tiled:dw+ms,attention_decode_subgroup8:pw+hs+bw,attention_decode_tiled:mw+ms,attention_forward_subgroup8:hw+hs+bw,attention_forward_tiled:gw+ms};var VS=64,gs=class{gpu;#e;#t;#r;#o;constructor(e,r={}){this.gpu=e,this.#e=new Map,this.#t=[],this.#o=new Map(Object.entries({...kw,...r.sources}))}get lanes(){return this.gpu.info.subgroupSize??VS}get unusedOutput(){return this.#r??=this.gpu.tensor("unused output",[4])}get numPipelines(){return this.#e.size}get(e,r={},o=[]){let n=`${e} ${JSON.stringify([Object.entries(r).sort(),[...o].sort()])}`,s=this.#e.get(n);return s||(s=this.#n(e,r,o),this.#e.set(n,s)),s}source(e){let r=this.#o.get(e);if(r===void 0)throw new C(e,"it is unknown; register it in lib/gpu/kernels.ts");return r}async ready(){await Promise.all(this.#t.splice(0)),this.gpu.check()}#n(e,r,o){let n=this.source(e),s=Mg(e,n);for(let d of Object.keys(r))if(!s.overrides.includes(d))throw new C(e,`override ${d} is unknown`);if(s.usesSubgroups&&this.gpu.info.subgroupSize===void 0)throw new C(e,"it needs subgroups, the adapter has none; use its fallback kernel");let{device:i}=this.gpu,a=this.#s(s)+qe(e,Ng(e,n,o));i.pushErrorScope("validation");let u=i.createShaderModule({label:e,code:a}),c=i.createBindGroupLayout({label:e,entries:s.bindings.map(({index:d,access:p})=>({binding:d,visibility:GPUShaderStage.COMPUTE,buffer:{type:p==="uniform"?"uniform":p==="read"?"read-only-storage":"storage"}}))}),l=i.createComputePipeline({label:e,layout:i.createPipelineLayout({bindGroupLayouts:[c]}),compute:{module:u,entryPoint:"main",constants:r}}),f=i.popErrorScope();return this.#t.push(YS(e,u,f,a)),{name:e,interface:s,pipeline:l,layout:c}}#s({usesLanes:e,usesSubgroups:r}){let{subgroupSize:o,enablesSubgroups:n}=this.gpu.info,s=n&&(e||r)?`enable subgroups;
`:"";return e?`${s}const LANES = ${this.lanes}u;
${o?vw:Sw}`:s}};async function YS(t,e,r,o){let s=(await e.getCompilationInfo()).messages.find(a=>a.type==="error");if(s)throw ps(t,o,s.lineNum,s.message);let i=await r;if(i)throw new C(t,i.message)}var ws=class{#e=[];#t=0;#r=[];#o=0;#n=[];get children(){return this.#r}get numRows(){return this.#o}get numSteps(){return this.#n.length}begin(e){this.#e=e,this.#r=[],this.#o=0}fork(e,r){y(e.length===this.#e.length,`${e.length} numbers of children`),this.#t=r,this.#n=[],this.#s(e)}branch(e){let r=e.every((n,s)=>s===0||e[s-1]<=n);y(r&&e[e.length-1]<this.#o,`parents ${e}`);let o=this.#r.map(({firstRow:n,endRow:s})=>e.reduce((i,a)=>a>=n&&a<s?i+1:i,0));this.#s(o),this.#n=this.#n.map(n=>e.map(s=>n[s]))}nextPositions(e){let r=new Uint32Array(e);for(let{firstKey:o,endKey:n,firstRow:s,endRow:i}of this.#r)r.fill(n-o+this.numSteps,s,i);return r}previousKeys(e){let r=new Uint32Array(e),o=this.#n.at(-1);if(o)r.set(o);else for(let{endKey:n,firstRow:s,endRow:i}of this.#r)r.fill(n-1,s,i);return r}append(e){this.#n.push(Uint32Array.from({length:this.#o},(r,o)=>e+o))}appendedKeys(e){let r=new Uint32Array(this.numSteps*e);return this.#n.forEach((o,n)=>r.set(o,n*e)),r}#s(e){let r=this.#t,o=0;this.#r=this.#e.map(({firstKey:n,endKey:s},i)=>{y(r<s-n,`a prompt has no ${r} tokens and one before`);let a=o+e[i],u={firstKey:n,endKey:s-r,firstRow:o,endRow:a};return o=a,u}),this.#o=o}};function Ew(t,e){let r=0;return e.map((o,n)=>{for(;o>=t[r].endKey;)r++;return{firstKey:t[r].firstKey,endKey:o+1,firstRow:n,endRow:n+1}})}var _s=class{#e;#t;#r;#o=[];#n=[];#s=[];#i=[];constructor(e,r,o){this.#e=e,this.#t=r,this.#r=o}load(e){this.#t.load(e)}writePrompts(e,r,{recents:o=[],ends:n}){this.#o=e,this.#s=n,this.#n=o;let s=new Uint32Array(r*re).fill(P),i=0;e.forEach((a,u)=>{let c=new _t(this.#t);for(let l=0;l<a.length;l++,i+=re)c.read(a[l],s,i,this.#a(u,l))}),this.#e.write(this.#r,s)}fork(e,r){let o=new Uint32Array(re),n=0;this.#i=this.#o.flatMap((s,i)=>{let a=new _t(this.#t),u=0;return this.#s[i].flatMap(c=>{for(;u<c-r;u++)a.read(s[u],o,0,this.#a(i,u));return Array.from({length:e[n++]},()=>a.clone())})})}branch(e){this.#i=Array.from(e,r=>this.#i[r].clone())}writeStep(e,r){let o=new Uint32Array(r*re).fill(P);this.#i.forEach((n,s)=>n.read(e[s],o,s*re)),this.#e.write(this.#r,o)}#a(e,r){let o=this.#n[e],n=r===this.#o[e].length-1;return o&&n?{isTraining:!1,context:0,recent:o}:void 0}};var Aw="lower the decoder's maxPromptTokens, maxRows or maxSteps",xs=class t{registry;config;extent;#e;#t;#r;#o;#n;constructor(e,r,o,n){this.registry=e,this.config=r,this.extent=o,this.#t=new Map,this.#r=new ws,this.#o=0,this.#e=n;let{addressRows:s}=n.inputs;this.#n=s&&new _s(e.gpu,new wt(r),s);let{rowIndex:i}=n.chosen;e.gpu.write(i,Uint32Array.from({length:i.shape[0]},(a,u)=>u))}static async create(e,{config:r,weights:o},n){let{memoryLimitBytes:s,...i}=n,a=za(r,i);if(a>s)throw new b(`Cannot allocate the decoder: it takes ${st(a)} besides the weights, at most ${st(s)} was wanted; ${Aw}, or raise its memory limit`);let{gpu:u}=e,c=await Un(u,f=>Wn(r,i,f),{what:"the decoder",remedy:Aw}),l=new t(e,r,i,c);return l.load(o),l}load(e){let{parameters:r}=this.#e;cs(this.registry.gpu,this.config,{parameters:r,weights:e}),this.#n?.load(e)}async prefill(e,r={}){let{numLast:o=1,recents:n,ends:s=e.map(({length:A})=>[A])}=r,{config:i}=this,{gpu:a}=this.registry,u=this.#e,c=e.reduce((A,{length:M})=>A+M,0);this.#d("prompt tokens",c,this.extent.maxPromptTokens);let l=yt(c),f=new Uint32Array(l),d=new Uint32Array(l),p=new Uint32Array(l),m=[],h=[],g=0;for(let[A,M]of e.entries()){let T=o===1/0?M.length:o;y(M.length>=T,`a prompt of ${M.length} tokens has no ${o} last ones`),this.#f(M.length-1);let $=g+M.length;f.set(M,g);for(let Z=g;Z<$;Z++)d[Z]=Z-g;p.fill(g,g,$);let I=g;for(let Z of s[A]){let oe=g+Z-(o===1/0?Z:o);y(oe>=I,`ends ${s[A]} of a prompt are less than ${o} tokens apart`),I=g+Z;for(let Se=oe;Se<I;Se++)m.push(Se);h.push({firstKey:g,endKey:I})}y(I===$,`the last of the ends ${s[A]} is that of a prompt of ${M.length} tokens`),g=$}this.#r.begin(h),this.#n?.writePrompts(e,l,{recents:n,ends:s}),p.fill(g,g),this.#u(f,d),a.write(u.inputs.segmentStart,p),this.#a(()=>qn(p,l)),a.write(u.chosen.positions,Uint32Array.from(m));let _=yt(m.length),x=_<=Math.min(l/2,u.tiles.shape[0]);return x&&this.#i(Ew(h,m)),this.#l(x?`prefill ${l} for ${_}`:`prefill ${l}`,A=>Sh(A,{config:i,tensors:u,rows:l,numWanted:x?_:void 0})).run(),await this.#c(m.length,x?void 0:m)}fork(e,r={}){let o=e.reduce((s,i)=>s+i,0);this.#d("rows",o,this.extent.maxRows);let{numDropped:n=0}=r;this.#r.fork(e,n),this.#n?.fork(e,n),this.#i(this.#s())}async step(e,r){y(this.#r.numRows>0,"a step needs rows: call fork() before");let o=r?.length??this.#r.numRows;y(e.length===o,`${e.length} tokens for ${o} rows`);let n=this.#r.numSteps;this.#d("steps",n+1,this.extent.maxSteps),this.#d("rows",o,this.extent.maxRows),r&&(this.#r.branch(r),this.#n?.branch(r),this.#i(this.#s()));let s=yt(o),i=new Uint32Array(s);i.set(e);let a=this.#r.nextPositions(s);for(let p of a)this.#f(p);this.#u(i,a),this.#n?.writeStep(e,s),this.#a(()=>this.#r.previousKeys(s));let{config:u}=this,c=this.#e,{suffixRows:l}=c;this.#r.append(n*l.shape[1]),this.registry.gpu.write(l,this.#r.appendedKeys(s));let f=this.#o,d=`step ${n} of ${s} rows in ${f} tiles`;return this.#l(d,p=>kh(p,{config:u,tensors:c,rows:s,step:n,numTiles:f})).run(),await this.#c(o)}#s(){return bh(this.#r.children,yh(this.registry.gpu.info,this.config.headDim))}#i(e){let{gpu:r}=this.registry;this.#o=Math.min(yt(e.length),this.#e.tiles.shape[0]);let o=new Uint32Array(this.#o*4);e.forEach((n,s)=>o.set([n.firstKey,n.endKey,n.firstRow,n.endRow],s*4)),r.write(this.#e.tiles,o)}#a(e){let r=this.#e.inputs.previous;r&&this.registry.gpu.write(r,e())}#u(e,r){let{gpu:o}=this.registry,n=F(this.config);y(e.every(s=>s<n),`there is a token that is not below ${n}`),o.write(this.#e.inputs.tokens,e),o.write(this.#e.positions,r)}async#c(e,r){let{gpu:o}=this.registry,{config:n}=this,s=yt(e),{chosen:i,head:a,parameters:u}=this.#e;this.#l(`head of ${s}, ${r?"chosen":"all"}`,p=>gg(p,{config:n,hiddenStates:a.xLastNorm,operands:u,tensors:r?i:{...i,positions:i.rowIndex},rows:s})).run();let c={...i.logProbabilities,shape:[e,F(n)]},l=r?(r.at(-1)??-1)+1:e,[f,d]=await o.read(c,{...a.xLastScale,shape:[l]});return await this.registry.ready(),ig(f,r?r.map(p=>d[p]):[...d]),f}#l(e,r){let o=this.#t.get(e);return o||(o=new Pe(this.registry,e),r(o),this.#t.set(e,o)),o}#f(e){let{sequenceLength:r}=this.config;if(!(e<r))throw new b(`Cannot decode: position ${e} was asked for, at most ${r-1} was wanted; shorten the prompt or use a model with longer sequences`)}#d(e,r,o){if(!(r<=o))throw new RangeError(`Cannot decode: ${r} ${e} were asked for, at most ${o} was planned; create a larger decoder`)}};async function Tw(t,e,r){let o=F(t.config),n=e.flatMap(({continuations:l})=>[...l]),s=e.flatMap(({prompt:l,continuations:f})=>f.map(d=>r?.(d,l))),i=n.map(({length:l})=>new Float32Array(l)),a=Uint32Array.from(e.flatMap(({continuations:l},f)=>l.map(()=>f))),u=(l,f)=>d=>{n.forEach((p,m)=>{if(l>=p.length)return;let h=ue(d,f[m],o),g=s[m]?.[l];i[m][l]=g?cr(h,p[l],g):h[p[l]]})},c=[t.prefill(e.map(({prompt:l})=>l)).then(u(0,a))];t.fork(e.map(()=>1));for(let l=1;;l++){let f=On(a,n.map(d=>l<d.length?d[l-1]:ur));if(f.tokens.length===0)break;a=f.rows,c.push(t.step(f.tokens,f.parents).then(u(l,a)))}return await Promise.all(c),i}function*zw(t,{maxPromptTokens:e,maxRows:r}){let o=[],n=0,s=0;for(let{prompt:i,continuations:a}of t)for(let u=0;u<a.length;){!(n+i.length<=e&&s<r)&&o.length>0&&(yield o,o=[],n=0,s=0);let l=a.slice(u,u+r-s);o.push({prompt:i,continuations:l}),n+=i.length,s+=l.length,u+=l.length}o.length>0&&(yield o)}var ys=class{#e;#t;#r;#o;constructor(e,r){this.#e=e,this.#t={limitBytes:r,bufferBytes:Nt(e.registry.gpu.device)};let o=n=>xs.create(e.registry,e,{...n,memoryLimitBytes:r});this.#r=new bs(()=>o(Oa(e.config,this.#t))),this.#o=new bs(()=>o(this.continuationExtent))}get continuationExtent(){return Th(this.#e.config,this.#t)}async withPrompts(e,r,o){let n=Oa(this.#e.config,this.#t),s=0;for(let i of Vn(e,n,r))await this.#r.run(a=>o(a,i,s)),s+=i.length}async continuePrompts(e,r){return await this.#o.run(async o=>await r(o,await o.prefill(e)))}async tokenLogProbabilities(e,r){let o=F(this.#e.config),n=[],s=e.map(i=>i.subarray(0,-1));return await this.withPrompts(s,1,async(i,a)=>{let u=await i.prefill(a,{numLast:r}),c=0;for(let{length:l}of a){let f=e[n.length].subarray(-Math.min(r,l));n.push(Float32Array.from(f,d=>u[c++*o+d]))}}),n}async continuationLogProbabilities(e,r){let o=[];for(let n of zw(e,this.continuationExtent))o.push(...await this.#o.run(s=>Tw(s,n,r)));return o}async reload(){let{weights:e}=this.#e;await Promise.all([this.#r,this.#o].map(r=>r.reload(e)))}},bs=class{#e;#t;#r=Promise.resolve();constructor(e){this.#e=e}async run(e){return await this.#o(async()=>await e(await(this.#t??=this.#e())))}async reload(e){await this.#o(async()=>(await this.#t)?.load(e))}async#o(e){let r=this.#r.then(e);return this.#r=r.catch(()=>{}),await r}};var JS=Y.keys().toArray();async function $w(t,{prompts:e,recents:r},o,n){await t.withPrompts(e,Y.length,async(s,i,a)=>{let u=r.slice(a,a+i.length),c=s.prefill(i,{numLast:2,recents:u}),l=i.map(()=>JS);if(n){let{maxSpreadMass:h,codes:g}=n,_=await c;l=i.map((x,A)=>gm(ue(_,2*A+1),{maxSpreadMass:h,code:g[a+A]}))}s.fork(l.map(({length:h})=>h));let f=s.step(l.flat().map(h=>11+Y[h])),[d,p]=await Promise.all([c,f]),m=0;l.forEach((h,g)=>{let _={outcome:ue(d,2*g),first:ue(d,2*g+1),expanded:h,seconds:p.subarray(m*267,(m+=h.length)*267)};o(mm(_),a+g)})})}var XS=2**30;function QS({directory:t,config:e}){let{vocabulary:r}=e.model;if(r!=="v2")throw new X(`the model has vocabulary ${r}, v2 was wanted; train one with v2, or ask only for likelihoods (query likelihood, eval)`,{path:t})}var vs=class t{config;registry;step;decoders;trainingData;#e;#t;constructor(e,r,o,n,{memoryLimitBytes:s=XS,calibration:i,adapted:a,trainingData:u}){this.config=e,this.registry=r,this.step=n,this.trainingData=u,this.#t=new ds(e,o,a),this.#e=i,this.decoders=new ys(this,s)}static async from(e,r={}){r.anyVocabulary||QS(e),r.calibration?.requireOf(e);let{config:o,weights:n,state:s}=e,i=new gs(await bo.open()),{adapted:a,trainingData:u}=e;return new t(o.model,i,n,s.step,{...r,adapted:a,trainingData:u})}static of(e,r,{weights:o,...n}){return new t(e,r,o,0,n)}get weights(){return this.#t.weights}get gpu(){return this.registry.gpu}async rttDistribution(e){return(await this.rttDistributions(["source"in e?e:rp(e)]))[0]}async rttDistributions(e){let r=[];return await this.likelyRttDistributions(e,o=>r.push(o)),r}async likelyRttDistributions(e,r,o){let{sequenceLength:n}=this.config,s={prompts:e.map(a=>Uint16Array.of(...$e(a,n),8)),recents:e.map(({recent:a})=>a?.flatMap(({rttCode:u,timeS:c})=>u===null?[]:[{rttCode:u,timeS:c}]))},i=(a,u)=>r(this.#e?.apply(a)??a,u);await $w(this.decoders,s,i,o)}async adapt(e,r={}){let o=e.map(s=>"source"in s?s:Yr(s)),n=await this.#t.fit(this.registry,o,r);return await this.decoders.reload(),n}close(){this.gpu.close()}[Symbol.dispose](){this.close()}};var vo=[0,.01,.025,...Array.from({length:19},(t,e)=>Math.round(5*(e+1))/100),.975,.99,1],Ss=class t{#e;#t;constructor(e,r){y(Ow(e),"shares of a calibration rise from 0 to 1"),this.#e=e,this.#t=r}static of(e){let r=e.below.length;return y(r>0,"a calibration needs measurements"),new t(vo.map((o,n)=>{if(n===0||n===vo.length-1)return o;let s=ok(e,[0,o]).reduce((i,a)=>i+a,0);return(o+s)/(r+1)}))}static parse(e,r){let{calibration:{shares:o},run:n}=tk(e,r);if(!Ow(o)){let u=`${vo.length} numbers that rise from 0 to 1 were wanted`;throw new X(`its calibration is damaged, ${u}; run eval again with --overwrite`,{path:r})}let{checkpoint:s,step:i,modelSha256:a}=n;return new t(o,{path:r,checkpoint:s,step:i,sha256:a})}requireOf({directory:e,state:r}){let{sha256:o}=r.files.model;if(!this.#t||this.#t.sha256===o)return;let{path:n,checkpoint:s,step:i}=this.#t,a=`it is of the model ${s} (step ${i}, SHA-256 ${this.#t.sha256.slice(0,12)}\u2026)`;throw new X(`${a}, one of ${e} (step ${r.step}, ${o.slice(0,12)}\u2026) was wanted; run eval on that one`,{path:n})}get shares(){return this.#e}shareBelow(e){return rk(vo,this.#e,e)}apply({pFailed:e,probabilities:r,canonicalMass:o,spreadMass:n}){let s=new Float64Array(r.length),i=0,a=0;for(let u=0;u<r.length;u++){i+=r[u];let c=this.shareBelow(Math.min(1,i));s[u]=c-a,a=c}return new gt(e,s,o,n)}},ek=L({run:L({checkpoint:O(),step:R(),modelSha256:O()}),calibration:L({shares:V(v())})});function tk(t,e){try{return ek.parse(JSON.parse(t))}catch(r){let o=r instanceof Yo&&r.issues.every(({path:[i]})=>i==="run"),n=o?"it does not say of which model it is":"it holds no calibration",s="the report.json of an eval whose data has a validation split was wanted";throw new X(`${n}, ${s}; run eval${o?" again with --overwrite":""}`,{path:e,cause:r})}}function Ow(t){return t.length===vo.length&&t[0]===0&&t.at(-1)===1&&t.every((e,r)=>r===0||e>t[r-1])}function rk(t,e,r){let o=1;for(;o<t.length-1&&t[o]<r;)o++;return e[o-1]+(r-t[o-1])/(t[o]-t[o-1])*(e[o]-e[o-1])}function ok({below:t,upTo:e},[r,o]){return t.map((n,s)=>{let i=e[s]-n;return i>0?Math.max(0,Math.min(o,e[s])-Math.max(r,n))/i:n>=r&&(n<o||o===1)?1:0})}var nk=["f32","f16"],sk=L({model:Ca,calibration:V(v()).nullable(),dtype:He(nk),weights:V(L({path:O(),sizeBytes:R().min(1),sha256:O().regex(/^[0-9a-f]{64}$/)})).min(1)});function Pw(t,e){try{return sk.parse(JSON.parse(t))}catch(r){throw new X("it does not describe a model of this version; run deno task export again",{path:e,cause:r})}}var qt=8,ik=1e8,Rw="__metadata__",ak=L({dtype:O(),shape:V(v().int().nonnegative()),data_offsets:qr([v().int().nonnegative(),v().int().nonnegative()])}),uk=Et(O(),O()),su={F32:4,F16:2};function ck(t,{path:e,sizeBytes:r}){if(r<qt)throw new X(`the file ends, ${qt} bytes of header length were wanted`,{path:e,offsetBytes:r});let o=new DataView(t.buffer,t.byteOffset).getBigUint64(0,!0);if(o>BigInt(Math.min(ik,r-qt))){let n=`the header is said to have ${o} bytes, the file has ${r}`;throw new X(`${n}; it is truncated or no safetensors file`,{path:e,offsetBytes:0})}return Number(o)}function lk(t,e){let{buffer:r,byteOffset:o,byteLength:n}=t,s=n/su[e];return e==="F16"?Float32Array.from(new Float16Array(r,o,s)):new Float32Array(r,o,s)}function Mw(t,e){let r={path:e,sizeBytes:t.length},o=qt+ck(t,r),{entries:n}=fk(t.subarray(qt,o),r);return new Map([...n].map(([s,{dtype:i,begin:a,end:u}])=>{let l=(o+a)%su[i]===0?t.subarray(o+a,o+u):t.slice(o+a,o+u);return[s,lk(l,i)]}))}function fk(t,e){let r=dk(t,e.path);return mk(r.entries,{...e,dataOffsetBytes:qt+t.length}),r}function dk(t,e){let r={path:e,offsetBytes:qt},o;try{o=JSON.parse(new TextDecoder("utf-8",{fatal:!0}).decode(t))}catch(u){throw new X("the header is no JSON; it is damaged or no safetensors file",{...r,cause:u})}if(t[0]!==123||typeof o!="object"||o===null)throw new X("the header does not start with {, a JSON object was wanted",r);let{[Rw]:n={},...s}=o,i=uk.safeParse(n);if(!i.success)throw new X(`${Rw} is not text to text`,r);let a=Object.entries(s).map(([u,c])=>[u,pk(u,c,r)]);return a.sort(([,u],[,c])=>u.begin-c.begin||u.end-c.end),{entries:new Map(a),metadata:i.data}}function pk(t,e,r){let o=ak.safeParse(e);if(!o.success)throw new X(`tensor ${t} lacks a valid dtype, shape or data_offsets`,r);let{dtype:n,shape:s,data_offsets:[i,a]}=o.data;if(n!=="F32"&&n!=="F16")throw new X(`tensor ${t} is ${n}, F32 or F16 was wanted; convert it`,r);let u=su[n]*hk(s);if(a-i!==u){let c=`tensor ${t} of shape [${s}] has ${a-i} bytes`;throw new X(`${c}, ${u} were wanted`,r)}return{shape:s,dtype:n,begin:i,end:a}}function mk(t,{path:e,dataOffsetBytes:r,sizeBytes:o}){let n=0;for(let[s,{begin:i,end:a}]of t){if(i!==n){let u=i<n?"overlaps the tensor before it":"leaves a hole before it";throw new X(`tensor ${s} ${u}`,{path:e,offsetBytes:r+i})}n=a}if(r+n!==o){let s=r+n,i=s>o?"it is truncated":"it has bytes that no tensor owns";throw new X(`the file has ${o} bytes, ${s} were wanted; ${i}`,{path:e,offsetBytes:Math.min(s,o)})}}function hk(t){return t.reduce((e,r)=>e*r,1)}var gk="ping-llm weights",ks=class{#e;constructor(e){this.#e=new URL(".",e)}async get(e){let r=await(await this.#o())?.match(this.#r(e));return r&&new Uint8Array(await r.arrayBuffer())}async put(e,r){let o=await this.#o();if(!o)return;let n=this.#r(e);for(let{url:i}of await o.keys())new URL(i).pathname===n.pathname&&await o.delete(i);let s={"content-length":String(r.length)};try{await o.put(n,new Response(r,{headers:s}))}catch(i){if(!(i instanceof DOMException))throw i}}async sizeBytes(){let e=await this.#o(),r=0;for(let o of await this.#t(e))r+=Number((await e?.match(o))?.headers.get("content-length")??0);return r}async delete(){let e=await this.#o();for(let r of await this.#t(e))await e?.delete(r)}async#t(e){return(await e?.keys()??[]).filter(({url:r})=>new URL(".",r).href===this.#e.href)}#r({path:e,sha256:r}){return new URL(`${e}?sha256=${r}`,this.#e)}async#o(){try{return await caches.open(gk)}catch{return}}};async function Nw(t){let e=await Cw(t,{cache:"no-cache"});return Pw(await e.text(),t.href)}async function Lw(t,e,r){let o=new ks(e),n=t.weights.reduce((l,{sizeBytes:f})=>l+f,0),s=new Map,i=0;for(let l of t.weights){let f=new URL(l.path,e),d=await wk(l,f,o,p=>r(i+p,n));for(let[p,m]of Mw(d,f.href))s.set(p,m);i+=l.sizeBytes}let{step:a,config:u,model_sha256:c}=t.model;return{directory:e.href,config:{model:kn(u.model)},state:{step:a,files:{model:{sha256:c}}},weights:s}}async function wk(t,e,r,o){o(0);let n=await r.get(t);if(n&&await Iw(n,t)===void 0)return n;let s=await _k(t,e,o),i=await Iw(s,t);if(i)throw new b(`Cannot use the model from ${e.href}: ${i}; load the page again, and if that does not help, export the site again and copy all of its files`);return await r.put(t,s),s}async function Iw(t,{sha256:e}){let r=new Uint8Array(await crypto.subtle.digest("SHA-256",t)),o=Array.from(r,n=>n.toString(16).padStart(2,"0")).join("");if(o!==e)return`its SHA-256 is ${o.slice(0,12)}\u2026, ${e.slice(0,12)}\u2026 was wanted: it was damaged or replaced`}async function _k({sizeBytes:t},e,r){let{body:o}=await Cw(e,{cache:"no-store"}),n=new Uint8Array(t),s=0,i=a=>new b(`Cannot use the model from ${e.href}: found ${a} bytes, ${t} were wanted; load the page again`);try{let a=o?.getReader();for(let u=await a?.read();u?.value;u=await a?.read()){if(s+u.value.length>t)throw i("more");n.set(u.value,s),s+=u.value.length,r(s)}}catch(a){throw a instanceof b?a:iu(e,"the connection was lost",a)}if(s<t)throw i(String(s));return n}async function Cw(t,e){let r;try{r=await fetch(t,e)}catch(o){throw iu(t,"the server did not answer",o)}if(r.ok)return r;throw iu(t,`the server answered ${r.status}`)}function iu(t,e,r){return new b(`Cannot load ${t.href}: ${e}; check the connection and load the page again`,{cause:r})}var xk=2**28,yk={src:"192.0.2.1",dst:"192.0.2.2"},bk=100,Dw=globalThis,vr=t=>Dw.postMessage(t),au=new Map,uu;Dw.onmessage=async({data:t})=>{t.kind==="abort"?au.get(t.id)?.abort():t.kind==="ask"?await Ak(t):await vk(new URL(t.site))};async function vk(t){try{uu=await Sk(t),vr({kind:"ready"})}catch(e){vr({kind:"status",status:{state:"failed",message:Bw(e,"run the model here")}})}}async function Sk(t){let e=await kk(),r=await Nw(t);Ek(r,e);let o=-1/0,n=await Lw(r,t,(i,a)=>{performance.now()-o<bk||(o=performance.now(),vr({kind:"status",status:{state:"loading",loadedBytes:i,totalBytes:a}}))});vr({kind:"status",status:{state:"starting"}});let s=await vs.from(n,{memoryLimitBytes:xk,...r.calibration&&{calibration:new Ss(r.calibration)}});return await s.rttDistribution(yk),new us(s,{info:r.model})}async function kk(){let t=await navigator.gpu?.requestAdapter();if(t)return t;let e=globalThis.isSecureContext?navigator.gpu?"this browser gives no GPU to pages":"this browser has no WebGPU":"the page came neither by https nor from this machine, where browsers give pages no GPU",r=globalThis.isSecureContext?"open the page in a current Chrome, Edge, Firefox or Safari on a machine with a GPU":"open it with https";throw new b(`Cannot run the model here: ${e}, WebGPU was wanted; ${r}`)}function Ek({model:{config:t}},e){let r=kn(t.model),o=hr(s=>Ut(r,s)),n=Nt(e);if(!(o<=n))throw new b(`Cannot run the model here: its largest tensor has ${st(o)}, at most ${st(n)} was wanted by this GPU; open the page on a larger machine, or ask for a smaller model`)}async function Ak({id:t,operation:e,args:r}){let o=new AbortController;au.set(t,o);try{if(!uu)throw new b("Cannot answer: the model is not loaded");vr({kind:"answer",id:t,answer:await Tk(uu,e,[...r,o.signal])})}catch(n){vr({kind:"problem",id:t,detail:Bw(n,"answer")})}finally{au.delete(t)}}async function Tk(t,e,r){return await t[e].apply(t,r)}function Bw(t,e){let{status:r,detail:o}=un(t);return r!==500?o:(console.error(t),`Cannot ${e}: ${t instanceof Error?t.message:String(t)}`)}
