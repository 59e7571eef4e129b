var Lw=Object.defineProperty;var xs=(t,e)=>{for(var r in e)Lw(t,r,{get:e[r],enumerable:!0})};var A={};xs(A,{BIGINT_FORMAT_RANGES:()=>vo,CONSTANT_CATCH:()=>pu,Class:()=>vs,NUMBER_FORMAT_RANGES:()=>kr,aborted:()=>pe,allowsEval:()=>Ts,assert:()=>qw,assertEqual:()=>Cw,assertIs:()=>Zw,assertNever:()=>Uw,assertNotEqual:()=>Dw,assignProp:()=>be,attachSchema:()=>Er,base64ToUint8Array:()=>fu,base64urlToUint8Array:()=>a_,cached:()=>br,captureStackTrace:()=>yo,cleanEnum:()=>i_,cleanRegex:()=>vr,clone:()=>$e,cloneDef:()=>Hw,codePointLength:()=>Ar,constantCatch:()=>mu,createTransparentProxy:()=>Jw,defineLazy:()=>nu,defineLazyInternal:()=>M,derived:()=>f_,esc:()=>Es,escapeRegex:()=>We,explicitlyAborted:()=>Os,extend:()=>e_,finalizeIssue:()=>Pe,floatSafeRemainder:()=>ks,getElementAtPath:()=>Kw,getEnumValues:()=>Ft,getLengthableOrigin:()=>Tr,getParsedType:()=>Yw,getSizableOrigin:()=>lu,hexToUint8Array:()=>c_,hide:()=>Eo,installLazyProp:()=>h_,isObject:()=>jt,isPlainObject:()=>ut,issue:()=>Kt,joinValues:()=>xo,jsonStringifyReplacer:()=>Ht,members:()=>Rs,merge:()=>r_,mergeDefs:()=>Ge,normalizeParams:()=>k,nullish:()=>Ss,numKeys:()=>Vw,objectClone:()=>jw,omit:()=>Qw,optionalKeys:()=>$s,own:()=>at,parsedType:()=>Ps,partial:()=>o_,pick:()=>Xw,prefixIssues:()=>Oe,primitiveTypes:()=>uu,promiseAllObject:()=>Gw,propertyKeyTypes:()=>zs,randomString:()=>Ww,rawShape:()=>Sr,required:()=>n_,safeExtend:()=>t_,shallowClone:()=>au,sizeCaps:()=>ko,slugify:()=>As,stringifyPrimitive:()=>bo,toZod:()=>Bw,uint8ArrayToBase64:()=>du,uint8ArrayToBase64url:()=>u_,uint8ArrayToHex:()=>l_,unwrapMessage:()=>qt});function Cw(t){return t}function Dw(t){return t}function Bw(){return t=>t}function Zw(t){}function Uw(t){throw new Error("Unexpected value in exhaustive check")}function qw(t){}function Ft(t){let e=Object.values(t).filter(o=>typeof o=="number");return Object.entries(t).filter(([o,n])=>e.indexOf(+o)===-1).map(([o,n])=>n)}function xo(t,e="|"){return t.map(r=>bo(r)).join(e)}function Ht(t,e){return typeof e=="bigint"?e.toString():e}var bs=class{constructor(e){this._getter=e,this._value=void 0}get value(){let e=this._getter;return e!==void 0&&(this._value=e(),this._getter=void 0),this._value}};function br(t){return new bs(t)}function Ss(t){return t==null}function vr(t){let e=t.startsWith("^")?1:0,r=t.endsWith("$")?t.length-1:t.length;return t.slice(e,r)}function ks(t,e){let r=t/e,o=Math.round(r),n=4*Number.EPSILON*Math.max(Math.abs(r),1);return Math.abs(r-o)<n?0:r-o}var ou=Symbol("evaluating");function nu(t,e,r){let o;Object.defineProperty(t,e,{get(){if(o!==ou)return o===void 0&&(o=ou,o=r()),o},set(n){Object.defineProperty(t,e,{value:n})},configurable:!0})}function jw(t){return Object.create(Object.getPrototypeOf(t),Object.getOwnPropertyDescriptors(t))}function be(t,e,r){Object.defineProperty(t,e,{value:r,writable:!0,enumerable:!0,configurable:!0})}function Sr(t){let e=Object.getOwnPropertyDescriptor(t,"shape");return e?.get?e.get.raw:e?.value}function Ke(t){return Sr(t._zod.def)??t._zod.def.shape}function su(t,e,r){Object.defineProperty(t,e,{get(){let o=r();return be(this,e,o),o},enumerable:!0,configurable:!0})}function iu(t,e,r){e in t?be(t,e,r):t[e]=r}function yt(t,e,r,o){let n=Ke(e);for(let s of r){let i=Object.getOwnPropertyDescriptor(n,s);i.enumerable&&(i.get?su(t,s,()=>{let a=e._zod.def.shape[s];return o?o(a,s):a}):iu(t,s,o?o(i.value,s):i.value))}}function Fw(t,e){for(let r of Reflect.ownKeys(e)){let o=Object.getOwnPropertyDescriptor(e,r);o.enumerable&&(o.get?su(t,r,()=>e[r]):iu(t,r,o.value))}}function Ge(...t){let e={};for(let r of t){let o=Object.getOwnPropertyDescriptors(r);Object.assign(e,o)}return Object.defineProperties({},e)}function Hw(t){return Ge(t._zod.def)}function Kw(t,e){return e?e.reduce((r,o)=>r?.[o],t):t}function Gw(t){let e=Object.keys(t),r=e.map(o=>t[o]);return Promise.all(r).then(o=>{let n={};for(let s=0;s<e.length;s++)n[e[s]]=o[s];return n})}function Ww(t=10){let e="abcdefghijklmnopqrstuvwxyz",r="";for(let o=0;o<t;o++)r+=e[Math.floor(Math.random()*e.length)];return r}function Es(t){return JSON.stringify(t)}function As(t){return t.toLowerCase().trim().replace(/[^\w\s-]/g,"").replace(/[\s_-]+/g,"-").replace(/^-+|-+$/g,"")}var yo="captureStackTrace"in Error?Error.captureStackTrace:(...t)=>{};function jt(t){return typeof t=="object"&&t!==null&&!Array.isArray(t)}var Ts=br(()=>{if(le.jitless||typeof navigator<"u"&&navigator?.userAgent?.includes("Cloudflare"))return!1;try{let t=Function;return new t(""),!0}catch{return!1}});function ut(t){if(jt(t)===!1)return!1;let e=t.constructor;if(e===void 0||typeof e!="function")return!0;let r=e.prototype;return!(jt(r)===!1||Object.prototype.hasOwnProperty.call(r,"isPrototypeOf")===!1)}function au(t){return ut(t)?{...t}:Array.isArray(t)?[...t]:t instanceof Map?new Map(t):t instanceof Set?new Set(t):t}function Vw(t){let e=0;for(let r in t)Object.prototype.hasOwnProperty.call(t,r)&&e++;return e}var Yw=t=>{let e=typeof t;switch(e){case"undefined":return"undefined";case"string":return"string";case"number":return Number.isNaN(t)?"nan":"number";case"boolean":return"boolean";case"function":return"function";case"bigint":return"bigint";case"symbol":return"symbol";case"object":return Array.isArray(t)?"array":t===null?"null":t.then&&typeof t.then=="function"&&t.catch&&typeof t.catch=="function"?"promise":typeof Map<"u"&&t instanceof Map?"map":typeof Set<"u"&&t instanceof Set?"set":typeof Date<"u"&&t instanceof Date?"date":typeof File<"u"&&t instanceof File?"file":"object";default:throw new Error(`Unknown data type: ${e}`)}},zs=new Set(["string","number","symbol"]),uu=new Set(["string","number","bigint","boolean","symbol","undefined"]);function We(t){return t.replace(/[.*+?^${}()|[\]\\]/g,"\\$&")}function $e(t,e,r){let o=new t._zod.constr(e??t._zod.def);return(!e||r?.parent)&&(o._zod.parent=t),o}function k(t){let e=t;if(!e)return{};if(typeof e=="string")return{error:()=>e};if(e?.message!==void 0){if(e?.error!==void 0)throw new Error("Cannot specify both `message` and `error` params");e.error=e.message}return delete e.message,typeof e.error=="string"?{...e,error:()=>e.error}:e}function Jw(t){let e;return new Proxy({},{get(r,o,n){return e??(e=t()),Reflect.get(e,o,n)},set(r,o,n,s){return e??(e=t()),Reflect.set(e,o,n,s)},has(r,o){return e??(e=t()),Reflect.has(e,o)},deleteProperty(r,o){return e??(e=t()),Reflect.deleteProperty(e,o)},ownKeys(r){return e??(e=t()),Reflect.ownKeys(e)},getOwnPropertyDescriptor(r,o){return e??(e=t()),Reflect.getOwnPropertyDescriptor(e,o)},defineProperty(r,o,n){return e??(e=t()),Reflect.defineProperty(e,o,n)}})}function bo(t){return typeof t=="bigint"?t.toString()+"n":typeof t=="string"?`"${t}"`:`${t}`}function $s(t){return Object.keys(t).filter(e=>t[e]._zod.optin!==void 0&&t[e]._zod.optout==="optional")}var kr={safeint:[Number.MIN_SAFE_INTEGER,Number.MAX_SAFE_INTEGER],int32:[-2147483648,2147483647],uint32:[0,4294967295],float32:[-34028234663852886e22,34028234663852886e22],float64:[-Number.MAX_VALUE,Number.MAX_VALUE]},vo={int64:[BigInt("-9223372036854775808"),BigInt("9223372036854775807")],uint64:[BigInt(0),BigInt("18446744073709551615")]};function Xw(t,e){let r=t._zod.def,o=r.checks;if(o&&o.length>0)throw new Error(".pick() cannot be used on object schemas containing refinements");let s={};return yt(s,t,So(t,e)),$e(t,Ge(r,{shape:s,checks:[]}))}function So(t,e){let r=Ke(t),o=[];for(let n of Reflect.ownKeys(e)){if(!Object.getOwnPropertyDescriptor(r,n)?.enumerable)throw new Error(`Unrecognized key: "${String(n)}"`);e[n]&&o.push(n)}return o}function Qw(t,e){let r=t._zod.def,o=r.checks;if(o&&o.length>0)throw new Error(".omit() cannot be used on object schemas containing refinements");let s=new Set(So(t,e)),i={};return yt(i,t,Reflect.ownKeys(Ke(t)).filter(a=>!s.has(a))),$e(t,Ge(r,{shape:i,checks:[]}))}function e_(t,e){if(!ut(e))throw new Error("Invalid input to extend: expected a plain object");let r=t._zod.def.checks;if(r&&r.length>0){let n=Ke(t);for(let s of Reflect.ownKeys(e))if(Object.getOwnPropertyDescriptor(n,s)!==void 0)throw new Error("Cannot overwrite keys on object schemas containing refinements. Use `.safeExtend()` instead.")}return $e(t,Ge(t._zod.def,{shape:cu(t,e)}))}function cu(t,e){let r={};return yt(r,t,Reflect.ownKeys(Ke(t))),Fw(r,e),r}function t_(t,e){if(!ut(e))throw new Error("Invalid input to safeExtend: expected a plain object");return $e(t,Ge(t._zod.def,{shape:cu(t,e)}))}function r_(t,e){if(!e?._zod?.def)throw new Error("Invalid input to merge: expected an object schema. To merge a plain shape, use `.extend()`.");if(t._zod.def.checks?.length)throw new Error(".merge() cannot be used on object schemas containing refinements. Use .safeExtend() instead.");let r={};yt(r,t,Reflect.ownKeys(Ke(t))),yt(r,e,Reflect.ownKeys(Ke(e)));let o=Ge(t._zod.def,{shape:r,get catchall(){return e._zod.def.catchall},checks:e._zod.def.checks??[]});return $e(t,o)}function o_(t,e,r,o="partial"){let s=e._zod.def.checks;if(s&&s.length>0)throw new Error(`.${o}() cannot be used on object schemas containing refinements`);let a=r?new Set(So(e,r)):void 0,u={};return yt(u,e,Reflect.ownKeys(Ke(e)),t&&((c,l)=>a&&!a.has(l)?c:new t({type:"optional",innerType:c}))),$e(e,Ge(e._zod.def,{shape:u,checks:[]}))}function n_(t,e,r){let o=r?new Set(So(e,r)):void 0,n={};return yt(n,e,Reflect.ownKeys(Ke(e)),(s,i)=>o&&!o.has(i)?s:new t({type:"nonoptional",innerType:s})),$e(e,Ge(e._zod.def,{shape:n}))}function pe(t,e=0){if(t.aborted===!0)return!0;for(let r=e;r<t.issues.length;r++)if(t.issues[r]?.continue!==!0)return!0;return!1}function Os(t,e=0){if(t.aborted===!0)return!0;for(let r=e;r<t.issues.length;r++)if(t.issues[r]?.continue===!1)return!0;return!1}function Oe(t,e){return e.map(r=>{var o;return(o=r).path??(o.path=[]),r.path.unshift(t),r})}function qt(t){return typeof t=="string"?t:t?.message}function ko(t){let e=[];for(let r of t??[]){let o=r._zod.def;if(!/_(length|size)$|_equals$/.test(o.check))break;let n=o.maximum??o.length??o.size;n>=0&&e.push([n,r])}return e}function Er(t,e,r){var o;for(let n=e;n<t.length;n++)(o=t[n]).schema??(o.schema=r)}function Pe(t,e,r){var o;let n=t.inst?._zod?.traits;n?.has("$ZodType")&&(n.has("$ZodCheck")?(o=t).schema??(o.schema=t.inst):t.schema=t.inst);let s=t.schema!==t.inst?t.schema?._zod.def?.error:void 0,i=t.message?t.message:qt(t.inst?._zod.def?.error?.(t))??qt(s?.(t))??qt(e?.error?.(t))??qt(r.customError?.(t))??qt(r.localeError?.(t))??"Invalid input",a={};for(let u of Object.keys(t))u==="inst"||u==="schema"||u==="continue"||u==="input"||u==="__proto__"||(a[u]=t[u]);return a.path??(a.path=[]),a.message=i,e?.reportInput&&(a.input=t.input),a}function lu(t){return t instanceof Set?"set":t instanceof Map?"map":t instanceof File?"file":"unknown"}var s_=/[\uD800-\uDBFF]/;function Ar(t){let e=t.length;if(!s_.test(t))return e;let r=e;for(let o=0;o<e-1;o++)(t.charCodeAt(o)&64512)===55296&&(t.charCodeAt(o+1)&64512)===56320&&(r--,o++);return r}function Tr(t){return Array.isArray(t)?"array":typeof t=="string"?"string":"unknown"}function Ps(t){let e=typeof t;switch(e){case"number":return Number.isNaN(t)?"nan":"number";case"object":{if(t===null)return"null";if(Array.isArray(t))return"array";let r=t;if(r&&Object.getPrototypeOf(r)!==Object.prototype&&"constructor"in r&&r.constructor)return r.constructor.name}}return e}function Kt(...t){let[e,r,o]=t;return typeof e=="string"?{message:e,code:"custom",input:r,inst:o}:{...e}}function i_(t){return Object.entries(t).filter(([e,r])=>Number.isNaN(Number.parseInt(e,10))).map(e=>e[1])}function fu(t){let e=atob(t),r=new Uint8Array(e.length);for(let o=0;o<e.length;o++)r[o]=e.charCodeAt(o);return r}function du(t){let e="";for(let r=0;r<t.length;r++)e+=String.fromCharCode(t[r]);return btoa(e)}function a_(t){let e=t.replace(/-/g,"+").replace(/_/g,"/"),r="=".repeat((4-e.length%4)%4);return fu(e+r)}function u_(t){return du(t).replace(/\+/g,"-").replace(/\//g,"_").replace(/=/g,"")}function c_(t){let e=t.replace(/^0x/,"");if(e.length%2!==0)throw new Error("Invalid hex string length");let r=new Uint8Array(e.length/2);for(let o=0;o<e.length;o+=2)r[o/2]=Number.parseInt(e.slice(o,o+2),16);return r}function l_(t){return Array.from(t).map(e=>e.toString(16).padStart(2,"0")).join("")}var vs=class{constructor(...e){}};function Rs(t,e){for(let r in e){let o=Object.getOwnPropertyDescriptor(e,r);o.get?Object.defineProperty(t,r,{...o,enumerable:!1}):d_(t,r,o.value)}}function at(t,e,r,o=!0){return Object.defineProperty(t,e,{configurable:!0,writable:!0,enumerable:o,value:r}),r}function Eo(t,e,r){return at(t,e,r,!1)}function f_(t,e){for(let r in t){let o=t[r];Object.defineProperty(e,r,{configurable:!0,enumerable:!0,get(){return at(this,r,o(this))},set(n){at(this,r,n)}})}return e}function d_(t,e,r){Object.defineProperty(t,e,{configurable:!0,get(){return this==null?r:at(this,e,r.bind(this))},set(o){at(this,e,o)}})}function p_(t,e){let r=Object.getPrototypeOf(t);return e in r?void 0:r}var ys,it=!1,m_={configurable:!0,get(){it=!0}};function M(t,e,r){let o=Object.getPrototypeOf(t._zod);if(e in o&&ys!==t._zod){ys=void 0;return}ys=t._zod,Object.defineProperty(o,e,{configurable:!0,get(){Object.defineProperty(this,e,m_);let n=it;it=!1;try{let s=r(this);return it?delete this[e]:Object.defineProperty(this,e,{configurable:!0,writable:!0,value:s}),it=it||n,s}catch(s){throw delete this[e],it=it||n,s}},set(n){Object.defineProperty(this,e,{configurable:!0,writable:!0,value:n})}})}function h_(t,e,r,o){let n=p_(t,e);n&&Object.defineProperty(n,e,{configurable:!0,get(){let s={configurable:!0,writable:!0,enumerable:o,value:void 0};return Object.defineProperty(this,e,s),s.value=r(this),Object.defineProperty(this,e,s),s.value},set(s){Object.defineProperty(this,e,{configurable:!0,writable:!0,enumerable:o,value:s})}})}var pu="~constantCatch";function mu(t){let e=()=>t;return e[pu]=!0,e}var hu;var Ms={value:void 0,enumerable:!1},gu="captureStackTrace"in Error?Error:null;function g_(t){let e=gu;if(e){let r=e.stackTraceLimit;if(typeof r=="number"){try{e.stackTraceLimit=0}catch{return gu=null,new t}try{return new t}finally{e.stackTraceLimit=r}}}return new t}function w(t,e,r,o){let n={};function s(d){this.def=d,this.constr=f,this.traits=new Set}s.prototype=n;let i=r,a=i&&new WeakSet;function u(d,p){if(d._zod){if(d._zod.traits.has(t))return}else{Ms.value=new s(p);try{Object.defineProperty(d,"_zod",Ms)}finally{Ms.value=void 0}}if(d._zod.traits.add(t),e(d,p),a){let h=Object.getPrototypeOf(d),g=d._zod.constr.prototype,_=h;for(;_&&_!==g;)_=Object.getPrototypeOf(_);let x=_??h;a.has(x)||(a.add(x),Rs(x,i))}let m=f.prototype;for(let h in m)Object.prototype.hasOwnProperty.call(m,h)&&(h in d||(d[h]=m[h].bind(d)))}let c=o?.Parent??Object;class l extends c{}Object.defineProperty(l,"name",{value:t});function f(d){let p=o?.Parent?g_(l):this;u(p,d);let m=p._zod.deferred;if(m){for(let g of m)g();p._zod.deferred=void 0}let h=globalThis.__zod_globalConfig?.postProcessor;return h&&h(p),p}return Object.defineProperty(f,"init",{value:u}),Object.defineProperty(f,Symbol.hasInstance,{value:d=>o?.Parent&&d instanceof o.Parent?!0:d?._zod?.traits?.has(t)}),Object.defineProperty(f,"name",{value:t}),f}var Re=class extends Error{constructor(){super("Encountered Promise during synchronous parse. Use .parseAsync() instead.")}},Gt=class extends Error{constructor(e){super(`Encountered unidirectional transform during encode: ${e}`),this.name="ZodEncodeError"}};(hu=globalThis).__zod_globalConfig??(hu.__zod_globalConfig={});var le=globalThis.__zod_globalConfig;function me(t){return t&&Object.assign(le,t),le}function w_(){let t=this._zod;return t.message??(t.message=JSON.stringify(t.def,Ht,2)),t.message}function __(t){this._zod.message=t}var x_={get:w_,set:__,enumerable:!0,configurable:!0},Ns={value:void 0,enumerable:!1},wu=new WeakSet([Object.prototype,Error.prototype]),_u=(t,e)=>{t.name="$ZodError",Ns.value=e,Object.defineProperty(t,"issues",Ns),Ns.value=void 0,Object.defineProperty(t,"message",x_);let r=Object.getPrototypeOf(t);wu.has(r)||(wu.add(r),Object.defineProperty(r,"toString",{configurable:!0,enumerable:!1,get(){let o=()=>this.message;return Object.defineProperty(this,"toString",{value:o,configurable:!0,writable:!0}),o},set(o){Object.defineProperty(this,"toString",{value:o,configurable:!0,writable:!0})}}))},xu=w("$ZodError",_u),xk=w("$ZodError",_u,void 0,{Parent:Error});function y_(t,e,r){return Object.prototype.hasOwnProperty.call(t,e)||(e==="__proto__"?Object.defineProperty(t,e,{value:r(),writable:!0,enumerable:!0,configurable:!0}):t[e]=r()),t[e]}function yu(t,e=r=>r.message){let r={},o=[];for(let n of t.issues)n.path.length>0?y_(r,n.path[0],()=>[]).push(e(n)):o.push(e(n));return{formErrors:o,fieldErrors:r}}function bu(t,e=r=>r.message){let r={_errors:[]},o=(n,s=[])=>{for(let i of n.issues)if(i.code==="invalid_union"&&i.errors.length)i.errors.map(a=>o({issues:a},[...s,...i.path]));else if(i.code==="invalid_key")o({issues:i.issues},[...s,...i.path]);else if(i.code==="invalid_element")o({issues:i.issues},[...s,...i.path]);else{let a=[...s,...i.path];if(a.length===0)r._errors.push(e(i));else{let u=r,c=0;for(;c<a.length;){let l=a[c],f=c===a.length-1;if(l==="_errors"){f&&u._errors.push(e(i)),c++;continue}Object.prototype.hasOwnProperty.call(u,l)||Object.defineProperty(u,l,{value:{_errors:[]},enumerable:!0,writable:!0,configurable:!0});let d=u[l];f&&d._errors.push(e(i)),u=d,c++}}}};return o(t),r}function Ao(t,e){return{callee:e?.callee??t,Err:e?.Err}}var To=t=>{let e=(r,o,n,s)=>{let i=n?{...n,async:!1}:{async:!1},a=r._zod.run({value:o,issues:[]},i);if(a instanceof Promise)throw new Re;if(a.issues.length){let u=new(s?.Err??t)(a.issues.map(c=>Pe(c,i,me())));throw yo(u,s?.callee??e),u}return a.value};return e};var zo=t=>{let e=async(r,o,n,s)=>{let i=n?{...n,async:!0}:{async:!0},a=r._zod.run({value:o,issues:[]},i);if(a instanceof Promise&&(a=await a),a.issues.length){let u=new(s?.Err??t)(a.issues.map(c=>Pe(c,i,me())));throw yo(u,s?.callee??e),u}return a.value};return e};var $o=t=>(e,r,o)=>{let n=o?{...o,async:!1}:{async:!1},s=e._zod.run({value:r,issues:[]},n);if(s instanceof Promise)throw new Re;return s.issues.length?vu(t,s.issues,n):{success:!0,data:s.value}};function vu(t,e,r){let o;return{success:!1,get error(){return o||(o=new t(e.map(n=>Pe(n,r,me()))),e=void 0,r=void 0),o},set error(n){o=n,e=void 0,r=void 0}}}var Oo=t=>async(e,r,o)=>{let n=o?{...o,async:!0}:{async:!0},s=e._zod.run({value:r,issues:[]},n);return s instanceof Promise&&(s=await s),s.issues.length?vu(t,s.issues,n):{success:!0,data:s.value}};var b_=Symbol.for("zod.compile.invalid"),v_=Symbol.for("zod.compile.fallback"),Ls=(t,e,r)=>{let o=t._zod.bag.validator;if(o!==void 0){if(o(e)!==b_)return!0;if(o.definite===!0&&r===void 0)return!1}return S_(t,e,r)};function S_(t,e,r){let o=r?{...r,async:!1,abortEarly:!0}:{async:!1,abortEarly:!0},n=t._zod.bag.fallbackRun,s;if(n?(o[v_]=!0,s=n({value:e,issues:[]},o)):s=t._zod.run({value:e,issues:[]},o),s instanceof Promise)throw new Re;return s.issues.length===0}var Cs=async(t,e,r)=>{let o=r?{...r,async:!0,abortEarly:!0}:{async:!0,abortEarly:!0},n=t._zod.run({value:e,issues:[]},o);return n instanceof Promise&&(n=await n),n.issues.length===0},Su=t=>{let e=To(t),r=(o,n,s,i)=>{let a=s?{...s,direction:"backward"}:{direction:"backward"};return e(o,n,a,Ao(r,i))};return r};var ku=t=>{let e=To(t),r=(o,n,s,i)=>e(o,n,s,Ao(r,i));return r};var Eu=t=>{let e=zo(t),r=async(o,n,s,i)=>{let a=s?{...s,direction:"backward"}:{direction:"backward"};return await e(o,n,a,Ao(r,i))};return r};var Au=t=>{let e=zo(t),r=async(o,n,s,i)=>await e(o,n,s,Ao(r,i));return r};var Tu=t=>(e,r,o)=>{let n=o?{...o,direction:"backward"}:{direction:"backward"};return $o(t)(e,r,n)};var zu=t=>(e,r,o)=>$o(t)(e,r,o);var $u=t=>async(e,r,o)=>{let n=o?{...o,direction:"backward"}:{direction:"backward"};return Oo(t)(e,r,n)};var Ou=t=>async(e,r,o)=>Oo(t)(e,r,o);var Pu=/^[cC][0-9a-z]{6,}$/,Ru=/^[0-9a-z]+$/,Mu=/^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$/,Iu=/^[0-9a-vA-V]{20}$/,Nu=/^[A-Za-z0-9]{27}$/,Lu=/^[a-zA-Z0-9_-]{21}$/;function Cu(t){return new RegExp(`^[a-zA-Z0-9_-]{${t}}$`)}var Du=/^P(?:(\d+W)|(?!.*W)(?=\d|T\d)(\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+([.,]\d+)?S)?)?)$/;var Bu=/^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})$/,Bs=t=>t?new RegExp(`^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-${t}[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12})$`):/^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}|00000000-0000-0000-0000-000000000000|ffffffff-ffff-ffff-ffff-ffffffffffff)$/;var Zu=/^(?:[A-Za-z0-9_'+\-]+\.)*[A-Za-z0-9_'+\-]*[A-Za-z0-9_+-]@(?:[A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$/;var k_="^(?=[\\s\\S]*[\\p{Extended_Pictographic}\\p{Regional_Indicator}\\u20E3])[\\p{Extended_Pictographic}\\p{Emoji_Component}]+$";function Uu(){return new RegExp(k_,"u")}var qu=/^(?:(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\.){3}(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])$/,ju=/^(([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,7}:|([0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,5}(:[0-9a-fA-F]{1,4}){1,2}|([0-9a-fA-F]{1,4}:){1,4}(:[0-9a-fA-F]{1,4}){1,3}|([0-9a-fA-F]{1,4}:){1,3}(:[0-9a-fA-F]{1,4}){1,4}|([0-9a-fA-F]{1,4}:){1,2}(:[0-9a-fA-F]{1,4}){1,5}|[0-9a-fA-F]{1,4}:((:[0-9a-fA-F]{1,4}){1,6})|:((:[0-9a-fA-F]{1,4}){1,7}|:))$/;var Fu=/^((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\/([0-9]|[1-2][0-9]|3[0-2])$/,Hu=/^(([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,7}:|([0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,5}(:[0-9a-fA-F]{1,4}){1,2}|([0-9a-fA-F]{1,4}:){1,4}(:[0-9a-fA-F]{1,4}){1,3}|([0-9a-fA-F]{1,4}:){1,3}(:[0-9a-fA-F]{1,4}){1,4}|([0-9a-fA-F]{1,4}:){1,2}(:[0-9a-fA-F]{1,4}){1,5}|[0-9a-fA-F]{1,4}:((:[0-9a-fA-F]{1,4}){1,6})|:((:[0-9a-fA-F]{1,4}){1,7}|:))\/(12[0-8]|1[01][0-9]|[1-9]?[0-9])$/,Ku=/^$|^(?:[0-9a-zA-Z+/]{4})*(?:(?:[0-9a-zA-Z+/]{2}==)|(?:[0-9a-zA-Z+/]{3}=))?$/,Gu=/^(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-]{2,3})?$/;var Wu=/^https?$/,Vu=/^\+[1-9]\d{6,14}$/;var Yu="(?:(?:\\d\\d[2468][048]|\\d\\d[13579][26]|\\d\\d0[48]|[02468][048]00|[13579][26]00)-02-29|\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|(?:02)-(?:0[1-9]|1\\d|2[0-8])))";function E_(t){return new RegExp(`^${t}$`)}var Ju=E_(Yu);function Ds(t){let e="(?:[01]\\d|2[0-3]):[0-5]\\d";return typeof t.precision=="number"?t.precision===-1?`${e}`:t.precision===0?`${e}:[0-5]\\d`:`${e}:[0-5]\\d\\.\\d{${t.precision}}`:t.seconds?`${e}:[0-5]\\d(?:\\.\\d+)?`:`${e}(?::[0-5]\\d(?:\\.\\d+)?)?`}function Xu(t){return new RegExp(`^${Ds(t)}$`)}function Qu(t){let e=["Z"];t.offset&&e.push("([+-](?:[01]\\d|2[0-3]):[0-5]\\d)");let r=`${Ds({precision:t.precision,seconds:!0})}(?:${e.join("|")})`,o=t.local?`${r}|${Ds({precision:t.precision})}`:r;return new RegExp(`^${Yu}T(?:${o})$`)}var ec=/^[\s\S]{0,}$/;var tc=/^-?\d+n?$/,Zs=/^-?\d+$/,zr=/^-?\d+(?:\.\d+)?$/,rc=/^(?:true|false)$/i;var oc=/^[^A-Z]*$/,nc=/^[^a-z]*$/;var ee=w("$ZodCheck",(t,e)=>{var r;t._zod??(t._zod={}),t._zod.def=e,(r=t._zod).onattach??(r.onattach=[])});var Us=t=>{let e=t.value;return!Ss(e)&&e.length!==void 0},Po={number:"number",bigint:"bigint",object:"date"},qs=w("$ZodCheckLessThan",(t,e)=>{ee.init(t,e);let r=Po[typeof e.value];t._zod.check=o=>{(e.inclusive?o.value<=e.value:o.value<e.value)||o.issues.push({origin:Po[typeof o.value]??r,code:"too_big",maximum:typeof e.value=="object"?e.value.getTime():e.value,input:o.value,inclusive:e.inclusive,inst:t,continue:!e.abort})}}),js=w("$ZodCheckGreaterThan",(t,e)=>{ee.init(t,e);let r=Po[typeof e.value];t._zod.check=o=>{(e.inclusive?o.value>=e.value:o.value>e.value)||o.issues.push({origin:Po[typeof o.value]??r,code:"too_small",minimum:typeof e.value=="object"?e.value.getTime():e.value,input:o.value,inclusive:e.inclusive,inst:t,continue:!e.abort})}}),sc=w("$ZodCheckMultipleOf",(t,e)=>{ee.init(t,e),t._zod.check=r=>{if(typeof r.value!=typeof e.value)throw new Error("Cannot mix number and bigint in multiple_of check.");(typeof r.value=="bigint"?e.value!==BigInt(0)&&r.value%e.value===BigInt(0):ks(r.value,e.value)===0)||r.issues.push({origin:typeof r.value,code:"not_multiple_of",divisor:e.value,input:r.value,inst:t,continue:!e.abort})}}),ic=w("$ZodCheckNumberFormat",(t,e)=>{ee.init(t,e),e.format=e.format||"float64";let r=e.format?.includes("int"),o=r?"int":"number",[n,s]=kr[e.format];t._zod.check=i=>{let a=i.value;if(r){if(!Number.isInteger(a)){i.issues.push({expected:o,format:e.format,code:"invalid_type",continue:!1,input:a,inst:t});return}if(!Number.isSafeInteger(a)){a>0?i.issues.push({input:a,code:"too_big",maximum:Number.MAX_SAFE_INTEGER,note:"Integers must be within the safe integer range.",inst:t,origin:o,inclusive:!0,continue:!e.abort}):i.issues.push({input:a,code:"too_small",minimum:Number.MIN_SAFE_INTEGER,note:"Integers must be within the safe integer range.",inst:t,origin:o,inclusive:!0,continue:!e.abort});return}}a<n&&i.issues.push({origin:"number",input:a,code:"too_small",minimum:n,inclusive:!0,inst:t,continue:!e.abort}),a>s&&i.issues.push({origin:"number",input:a,code:"too_big",maximum:s,inclusive:!0,inst:t,continue:!e.abort})}});var ac=w("$ZodCheckMaxLength",(t,e)=>{var r;ee.init(t,e),(r=t._zod.def).when??(r.when=Us),t._zod.check=o=>{let n=o.value,s=n.length;if((typeof n=="string"&&s>e.maximum?Ar(n):s)<=e.maximum)return;let a=Tr(n);o.issues.push({origin:a,code:"too_big",maximum:e.maximum,inclusive:!0,input:n,inst:t,continue:!e.abort})}}),uc=w("$ZodCheckMinLength",(t,e)=>{var r;ee.init(t,e),(r=t._zod.def).when??(r.when=Us),t._zod.check=o=>{let n=o.value,s=n.length;if((typeof n=="string"&&s>=e.minimum&&s<e.minimum*2?Ar(n):s)>=e.minimum)return;let a=Tr(n);o.issues.push({origin:a,code:"too_small",minimum:e.minimum,inclusive:!0,input:n,inst:t,continue:!e.abort})}}),cc=w("$ZodCheckLengthEquals",(t,e)=>{var r;ee.init(t,e),(r=t._zod.def).when??(r.when=Us),t._zod.check=o=>{let n=o.value,s=n.length,i=typeof n=="string"&&s>=e.length&&s<=e.length*2?Ar(n):s;if(i===e.length)return;let a=Tr(n),u=i>e.length;o.issues.push({origin:a,...u?{code:"too_big",maximum:e.length}:{code:"too_small",minimum:e.length},inclusive:!0,exact:!0,input:o.value,inst:t,continue:!e.abort})}}),Or=w("$ZodCheckStringFormat",(t,e)=>{var r,o;ee.init(t,e),e.pattern?(r=t._zod).check??(r.check=n=>{e.pattern.lastIndex=0,!e.pattern.test(n.value)&&n.issues.push({origin:"string",code:"invalid_format",format:e.format,input:n.value,...e.pattern?{pattern:e.pattern.toString()}:{},inst:t,continue:!e.abort})}):(o=t._zod).check??(o.check=()=>{})}),lc=w("$ZodCheckRegex",(t,e)=>{Or.init(t,e),t._zod.check=r=>{e.pattern.lastIndex=0,!e.pattern.test(r.value)&&r.issues.push({origin:"string",code:"invalid_format",format:"regex",input:r.value,pattern:e.pattern.toString(),inst:t,continue:!e.abort})}}),fc=w("$ZodCheckLowerCase",(t,e)=>{e.pattern??(e.pattern=oc),Or.init(t,e)}),dc=w("$ZodCheckUpperCase",(t,e)=>{e.pattern??(e.pattern=nc),Or.init(t,e)}),pc=w("$ZodCheckIncludes",(t,e)=>{ee.init(t,e);let r=We(e.includes),o=new RegExp(typeof e.position=="number"?`^.{${e.position},}${r}`:r);e.pattern=o,t._zod.check=n=>{n.value.includes(e.includes,e.position)||n.issues.push({origin:"string",code:"invalid_format",format:"includes",includes:e.includes,input:n.value,inst:t,continue:!e.abort})}}),mc=w("$ZodCheckStartsWith",(t,e)=>{ee.init(t,e);let r=new RegExp(`^${We(e.prefix)}.*`);e.pattern??(e.pattern=r),t._zod.check=o=>{o.value.startsWith(e.prefix)||o.issues.push({origin:"string",code:"invalid_format",format:"starts_with",prefix:e.prefix,input:o.value,inst:t,continue:!e.abort})}}),hc=w("$ZodCheckEndsWith",(t,e)=>{ee.init(t,e);let r=new RegExp(`.*${We(e.suffix)}$`);e.pattern??(e.pattern=r),t._zod.check=o=>{o.value.endsWith(e.suffix)||o.issues.push({origin:"string",code:"invalid_format",format:"ends_with",suffix:e.suffix,input:o.value,inst:t,continue:!e.abort})}});var gc=w("$ZodCheckOverwrite",(t,e)=>{ee.init(t,e),t._zod.check=r=>{r.value=e.tx(r.value)}});var Ro=class{constructor(e=[],r={}){this.content=[],this.indent=0,this.args=e,this.closed=r}indented(e){this.indent+=1;try{e(this)}finally{this.indent-=1}}write(e){if(typeof e=="function"){e(this,{execution:"sync"}),e(this,{execution:"async"});return}let o=e.split(`
`).filter(i=>i),n=Math.min(...o.map(i=>i.length-i.trimStart().length)),s=o.map(i=>i.slice(n)).map(i=>" ".repeat(this.indent*2)+i);for(let i of s)this.content.push(i)}compile(){let e=Function,r=this?.content??[""];return new e(...Object.keys(this.closed),`return function (${this.args.join(", ")}) {
${r.join(`
`)}
};`)(...Object.values(this.closed))}};var _c={major:4,minor:6,patch:7};var B=w("$ZodType",(t,e)=>{var r;t??(t={}),t._zod.def=e,t._zod.bag=t._zod.bag||{},t._zod.version=_c;let o=t._zod.def.checks,n=t._zod.traits.has("$ZodCheck")?[t,...o??[]]:o?.length?[...o]:[];for(let s of n)for(let i of s._zod.onattach)i(t);if(n.length===0)(r=t._zod).deferred??(r.deferred=[]),t._zod.deferred?.push(()=>{t._zod.run=t._zod.parse});else{let s=(a,u,c)=>{if(a.memo)return a;let l=pe(a),f;for(let d of u){if(d._zod.def.when){if(Os(a)||!d._zod.def.when(a))continue}else if(l)continue;let p=a.issues.length,m=d._zod.check(a);if(m instanceof Promise&&c?.async===!1)throw new Re;if(f||m instanceof Promise)f=(f??Promise.resolve()).then(async()=>{await m,a.issues.length!==p&&(Er(a.issues,p,t),l||(l=pe(a,p)))});else{if(a.issues.length===p)continue;Er(a.issues,p,t),l||(l=pe(a,p))}}return f?f.then(()=>a):a},i=(a,u,c)=>{if(pe(a))return a.aborted=!0,a;let l=s(u,n,c);if(l instanceof Promise){if(c.async===!1)throw new Re;return l.then(f=>t._zod.parse(f,c))}return t._zod.parse(l,c)};t._zod.run=(a,u)=>{if(u.skipChecks)return t._zod.parse(a,u);if(u.direction==="backward"){let l=t._zod.parse({value:a.value,issues:[]},{...u,skipChecks:!0});return l instanceof Promise?l.then(f=>i(f,a,u)):i(l,a,u)}let c=t._zod.parse(a,u);if(c instanceof Promise){if(u.async===!1)throw new Re;return c.then(l=>s(l,n,u))}return s(c,n,u)}}},{get"~standard"(){return Eo(this,"~standard",Hs(this))},set"~standard"(t){at(this,"~standard",t)}}),Rc=(t,e)=>t.issues.length?{issues:t.issues.map(r=>Pe(r,e,me()))}:{value:t.value};async function A_(t,e){let r={async:!0};return Rc(await t._zod.run({value:e,issues:[]},r),r)}function Hs(t){return{validate:e=>{let r={async:!1};try{let o=t._zod.run({value:e,issues:[]},r);if(!(o instanceof Promise))return Rc(o,r)}catch{}return A_(t,e)},vendor:"zod",version:1}}var Lo=w("$ZodString",(t,e)=>{B.init(t,e),t._zod.pattern=e.pattern??ec,t._zod.parse=(r,o)=>{if(e.coerce)try{r.value=String(r.value)}catch{}return typeof r.value=="string"||r.issues.push({expected:"string",code:"invalid_type",input:r.value,inst:t}),r}}),U=w("$ZodStringFormat",(t,e)=>{Or.init(t,e),Lo.init(t,e)}),Mc=w("$ZodGUID",(t,e)=>{e.pattern??(e.pattern=Bu),U.init(t,e)}),Ic=w("$ZodUUID",(t,e)=>{if(e.version){let o={v1:1,v2:2,v3:3,v4:4,v5:5,v6:6,v7:7,v8:8}[e.version];if(o===void 0)throw new Error(`Invalid UUID version: "${e.version}"`);e.pattern??(e.pattern=Bs(o))}else e.pattern??(e.pattern=Bs());U.init(t,e)}),Nc=w("$ZodEmail",(t,e)=>{e.pattern??(e.pattern=Zu),U.init(t,e)}),Lc=1,Io=2;function Cc(t){try{return typeof URL<"u"&&typeof URL.canParse=="function"?URL.canParse(t):(new URL(t),!0)}catch{return!1}}function T_(t,e){return!("normalize"in e)&&!("hostname"in e)&&!("protocol"in e)?Cc(t)||Io:z_(t,e)}function z_(t,e){if(!e.normalize&&e.protocol?.source===Wu.source&&!/^https?:\/\//i.test(t))return Lc;try{if(typeof URL<"u"){let r=URL;if(typeof r.parse=="function")return r.parse(t)??Io}return new URL(t)}catch{return Io}}var $_=/[\t\n\r]/g;function xc(t){return t.replace($_,"")}function O_(t,e){return e.lastIndex=0,e.test(t.hostname)}function P_(t,e){return e.lastIndex=0,e.test(t.protocol.endsWith(":")?t.protocol.slice(0,-1):t.protocol)}var Dc=w("$ZodURL",(t,e)=>{U.init(t,e),t._zod.check=r=>{try{let o=r.value.trim(),n=T_(o,e);if(n===Lc){r.issues.push({code:"invalid_format",format:"url",note:"Invalid URL format",input:r.value,inst:t,continue:!e.abort});return}if(n===Io){r.issues.push({code:"invalid_format",format:"url",input:r.value,inst:t,continue:!e.abort});return}if(n===!0){r.value=xc(o);return}e.hostname&&!O_(n,e.hostname)&&r.issues.push({code:"invalid_format",format:"url",note:"Invalid hostname",pattern:e.hostname.source,input:r.value,inst:t,continue:!e.abort}),e.protocol&&!P_(n,e.protocol)&&r.issues.push({code:"invalid_format",format:"url",note:"Invalid protocol",pattern:e.protocol.source,input:r.value,inst:t,continue:!e.abort}),r.value=e.normalize?n.href:xc(o);return}catch{r.issues.push({code:"invalid_format",format:"url",input:r.value,inst:t,continue:!e.abort})}}}),Bc=w("$ZodEmoji",(t,e)=>{e.pattern??(e.pattern=Uu()),U.init(t,e)}),Zc=w("$ZodNanoID",(t,e)=>{if(e.length!==void 0&&(!Number.isInteger(e.length)||e.length<1))throw new Error(`Invalid nanoid length: ${e.length}`);e.pattern??(e.pattern=e.length===void 0?Lu:Cu(e.length)),U.init(t,e)}),Uc=w("$ZodCUID",(t,e)=>{e.pattern??(e.pattern=Pu),U.init(t,e)}),qc=w("$ZodCUID2",(t,e)=>{e.pattern??(e.pattern=Ru),U.init(t,e)}),jc=w("$ZodULID",(t,e)=>{e.pattern??(e.pattern=Mu),U.init(t,e)}),Fc=w("$ZodXID",(t,e)=>{e.pattern??(e.pattern=Iu),U.init(t,e)}),Hc=w("$ZodKSUID",(t,e)=>{e.pattern??(e.pattern=Nu),U.init(t,e)}),Kc=w("$ZodISODateTime",(t,e)=>{e.pattern??(e.pattern=Qu(e)),U.init(t,e)}),Gc=w("$ZodISODate",(t,e)=>{e.pattern??(e.pattern=Ju),U.init(t,e)}),Wc=w("$ZodISOTime",(t,e)=>{e.pattern??(e.pattern=Xu(e)),U.init(t,e)}),Vc=w("$ZodISODuration",(t,e)=>{e.pattern??(e.pattern=Du),U.init(t,e)}),Yc=w("$ZodIPv4",(t,e)=>{e.pattern??(e.pattern=qu),U.init(t,e)}),R_=/^[0-9a-fA-F:.]+$/;function Jc(t){return R_.test(t)?Cc(`http://[${t}]`):!1}var Xc=w("$ZodIPv6",(t,e)=>{e.pattern??(e.pattern=ju),U.init(t,e),t._zod.check=r=>{Jc(r.value)||r.issues.push({code:"invalid_format",format:"ipv6",input:r.value,inst:t,continue:!e.abort})}});var Qc=w("$ZodCIDRv4",(t,e)=>{e.pattern??(e.pattern=Fu),U.init(t,e)});function M_(t){let e=t.split("/");if(e.length!==2)return!1;let[r,o]=e;if(!o)return!1;let n=Number(o);return`${n}`!==o||n<0||n>128?!1:Jc(r)}var el=w("$ZodCIDRv6",(t,e)=>{e.pattern??(e.pattern=Hu),U.init(t,e),t._zod.check=r=>{M_(r.value)||r.issues.push({code:"invalid_format",format:"cidrv6",input:r.value,inst:t,continue:!e.abort})}});function tl(t){if(t==="")return!0;if(/\s/.test(t)||t.length%4!==0)return!1;try{return atob(t),!0}catch{return!1}}var Ks=/^[0-9a-zA-Z+/]*={0,2}$/,rl=w("$ZodBase64",(t,e)=>{e.pattern??(e.pattern=Ks),U.init(t,e),t._zod.check=r=>{tl(r.value)||r.issues.push({code:"invalid_format",format:"base64",input:r.value,inst:t,continue:!e.abort})}}),Co=/^[A-Za-z0-9_-]*$/;function I_(t){if(!Co.test(t))return!1;let e=t.replace(/[-_]/g,o=>o==="-"?"+":"/"),r=e.padEnd(Math.ceil(e.length/4)*4,"=");return tl(r)}var ol=w("$ZodBase64URL",(t,e)=>{e.pattern??(e.pattern=Co),U.init(t,e),t._zod.check=r=>{I_(r.value)||r.issues.push({code:"invalid_format",format:"base64url",input:r.value,inst:t,continue:!e.abort})}}),nl=w("$ZodE164",(t,e)=>{e.pattern??(e.pattern=Vu),U.init(t,e)});function N_(t,e=null){try{let r=t.split(".");if(r.length!==3)return!1;let[o]=r;if(!o)return!1;let n=JSON.parse(atob(o));return!("typ"in n&&n?.typ!=="JWT"||!n.alg||e&&(!("alg"in n)||n.alg!==e))}catch{return!1}}var sl=w("$ZodJWT",(t,e)=>{U.init(t,e),t._zod.check=r=>{N_(r.value,e.alg)||r.issues.push({code:"invalid_format",format:"jwt",input:r.value,inst:t,continue:!e.abort})}});var Gs=w("$ZodNumber",(t,e)=>{B.init(t,e),t._zod.pattern=zr,t._zod.parse=(r,o)=>{if(e.coerce)try{r.value=Number(r.value)}catch{}let n=r.value;if(typeof n=="number"&&!Number.isNaN(n)&&Number.isFinite(n))return r;let s=typeof n=="number"?Number.isNaN(n)?"NaN":Number.isFinite(n)?void 0:String(n):void 0;return r.issues.push({expected:"number",code:"invalid_type",input:n,inst:t,...s?{received:s}:{}}),r}}),il=w("$ZodNumberFormat",(t,e)=>{ic.init(t,e),Gs.init(t,e)}),al=w("$ZodBoolean",(t,e)=>{B.init(t,e),t._zod.pattern=rc,t._zod.parse=(r,o)=>{if(e.coerce)try{r.value=!!r.value}catch{}let n=r.value;return typeof n=="boolean"||r.issues.push({expected:"boolean",code:"invalid_type",input:n,inst:t}),r}}),ul=w("$ZodBigInt",(t,e)=>{B.init(t,e),t._zod.pattern=tc,t._zod.parse=(r,o)=>{if(e.coerce)try{r.value=BigInt(r.value)}catch{}return typeof r.value=="bigint"||r.issues.push({expected:"bigint",code:"invalid_type",input:r.value,inst:t}),r}});var cl=w("$ZodUnknown",(t,e)=>{B.init(t,e),t._zod.parse=r=>r}),ll=w("$ZodNever",(t,e)=>{B.init(t,e),t._zod.parse=(r,o)=>(r.issues.push({expected:"never",code:"invalid_type",input:r.value,inst:t}),r)});var fl=w("$ZodDate",(t,e)=>{B.init(t,e),t._zod.parse=(r,o)=>{if(e.coerce)try{r.value=new Date(r.value)}catch{}let n=r.value,s=n instanceof Date;return s&&!Number.isNaN(n.getTime())||r.issues.push({expected:"date",code:"invalid_type",input:n,...s?{received:"Invalid Date"}:{},inst:t}),r}});function L_(t,e){let r=ko(t._zod.def.checks);if(!r.length)return;let o=Math.min(...r.map(s=>s[0])),n=t._zod.parse;t._zod.parse=(s,i)=>{let a=e(s.value);if(a>o&&!i?.skipChecks&&i?.direction!=="backward"){for(let[u,c]of ko(t._zod.def.checks))if(a>u&&c._zod.def.when(s)){let l=s.issues.length;return c._zod.check(s),s.issues[l].continue=!1,Er(s.issues,l,t),s}}return n(s,i)}}var C_=t=>Array.isArray(t)?t.length:-1;function yc(t,e,r){t.issues.length&&e.issues.push(...Oe(r,t.issues)),e.value[r]=t.value}var dl=w("$ZodArray",(t,e)=>{B.init(t,e);let r=le.memoizer;r?.attach(t),t._zod.parse=(o,n)=>{let s=o.value;if(!Array.isArray(s))return o.issues.push({expected:"array",code:"invalid_type",input:s,inst:t}),o;o.value=r?r.alloc(t,o,Array(s.length),n):Array(s.length);let i=[],a=n?.abortEarly;for(let u=0;u<s.length;u++){let c=s[u],l=e.element._zod.run({value:c,issues:[]},n);if(l instanceof Promise)i.push(l.then(f=>yc(f,o,u)));else if(yc(l,o,u),a&&l.issues.length!==0&&pe(l))break}return i.length?Promise.all(i).then(()=>o):o},L_(t,C_)});function No(t,e,r,o,n,s){let i=r in o,a=s==="optional";if(!(!i&&a&&n==="optional")){if(t.issues.length){if(n!==void 0&&a&&!i)return;e.issues.push(...Oe(r,t.issues))}if(!i&&n===void 0){t.issues.length||e.issues.push({code:"invalid_type",expected:"nonoptional",input:void 0,path:[r]});return}t.value===void 0?(i||n==="defaulted"&&!a)&&(e.value[r]=void 0):e.value[r]=t.value}}var D_=[];function pl(t){let e=Object.keys(t.shape),r=Object.getOwnPropertySymbols(t.shape),o=r.length?r:D_,n=o.length?[...e,...o]:e;for(let i of n)if(!t.shape?.[i]?._zod?.traits?.has("$ZodType"))throw new Error(`Invalid element at key "${String(i)}": expected a Zod schema`);let s=$s(t.shape);return{...t,allKeys:n,symbolKeys:o,keySet:new Set(e),numKeys:e.length,optionalKeys:new Set(s)}}function ml(t,e,r,o,n,s,i){let a=[],u=n.keySet,c=n.catchall._zod,l=c.def.type,f=c.optin,d=c.optout,p=0;for(let m in e){if(i&&r.issues.length!==p){if(pe(r,p))break;p=r.issues.length}if(u.has(m))continue;if(m==="__proto__"){l==="never"&&a.push(m);continue}if(l==="never"){a.push(m);continue}let h=c.run({value:e[m],issues:[]},o);h instanceof Promise?t.push(h.then(g=>No(g,r,m,e,f,d))):No(h,r,m,e,f,d)}return a.length&&r.issues.push({code:"unrecognized_keys",keys:a,input:e,inst:s,continue:!0}),t.length?Promise.all(t).then(()=>r):r}var B_=w("$ZodObject",(t,e)=>{B.init(t,e);let r=Object.getOwnPropertyDescriptor(e,"shape"),o=r?.get?r.get.raw:e.shape??{};if(o){let c=()=>{let l={...o};return Object.defineProperty(e,"shape",{value:l}),c.raw=l,l};c.raw=o,Object.defineProperty(e,"shape",{get:c})}let n=br(()=>pl(e));M(t,"propValues",c=>{let l=c.def.shape,f={};for(let d in l){let p=l[d]._zod;if(p.values){Object.prototype.hasOwnProperty.call(f,d)||be(f,d,new Set);for(let m of p.values)f[d].add(m);p.optin!==void 0&&f[d].add(void 0)}}return f});let s=jt,i=e.catchall,a,u=le.memoizer;u?.attach(t),t._zod.parse=(c,l)=>{a??(a=n.value);let f=c.value;if(!s(f))return c.issues.push({expected:"object",code:"invalid_type",input:f,inst:t}),c;c.value=u?u.alloc(t,c,{},l):{};let d=[],p=a.shape,m=l?.abortEarly,h=c.issues.length;for(let g of a.allKeys){if(m&&c.issues.length!==h){if(pe(c,h))break;h=c.issues.length}if(g==="__proto__")continue;let _=p[g],x=_._zod.optin,O=_._zod.optout,I=_._zod.run({value:f[g],issues:[]},l);I instanceof Promise?d.push(I.then(E=>No(E,c,g,f,x,O))):No(I,c,g,f,x,O)}return i?ml(d,f,c,l,n.value,t,m===!0):d.length?Promise.all(d).then(()=>c):c}}),hl=w("$ZodObjectJIT",(t,e)=>{B_.init(t,e);let r=t._zod.parse,o=br(()=>pl(e)),n=le.memoizer,s=p=>{let m=o.value,h=m.symbolKeys,g=new Ro(["payload","ctx"],{shape:p,inst:t,memo:n,syms:h}),_=E=>`shape[${E}]._zod.run({ value: input[${E}], issues: [] }, ctx)`,x=(E,R)=>`
          let ${E}_ab = false;
          for (let i = 0; i < ${E}.issues.length; i++) {
            const iss = ${E}.issues[i];
            iss.path = iss.path ? [${R}, ...iss.path] : [${R}];
            payload.issues.push(iss);
            if (iss.continue !== true) ${E}_ab = true;
          }
          if (${E}_ab && ctx && ctx.abortEarly) {
            payload.value = newResult;
            return payload;
          }`;g.write("const input = payload.value;");let O=Object.create(null),I=0;for(let E of m.allKeys)O[E]=`key_${I++}`;g.write(n?"const newResult = memo.alloc(inst, payload, {}, ctx);":"const newResult = {};");for(let E of m.allKeys){if(E==="__proto__")continue;let R=O[E],Y=typeof E=="symbol"?`syms[${h.indexOf(E)}]`:Es(E),Ue=`${Y} in input`,nt=p[E],st=nt?._zod?.optin,xt=st!==void 0,F=nt?._zod?.optout==="optional";if(g.write(`const ${R} = ${_(Y)};`),xt&&F){let qe=st==="optional"?`${R}_present`:`${R}.value !== undefined || ${R}_present`;g.write(`
        const ${R}_present = ${Ue};
        if (!${R}.issues.length || ${R}_present) {
          if (${R}.issues.length) {${x(R,Y)}
          }

          if (${qe}) {
            newResult[${Y}] = ${R}.value;
          }
        }

      `)}else xt?(g.write(`
        if (${R}.issues.length) {${x(R,Y)}
        }
      `),st==="defaulted"?g.write(`newResult[${Y}] = ${R}.value;`):g.write(`
        if (${R}.value !== undefined || ${Ue}) {
          newResult[${Y}] = ${R}.value;
        }
      `)):g.write(`
        const ${R}_present = ${Ue};
        if (${R}.issues.length) {${x(R,Y)}
        }
        if (!${R}_present && !${R}.issues.length) {
          payload.issues.push({
            code: "invalid_type",
            expected: "nonoptional",
            input: undefined,
            path: [${Y}]
          });
          if (ctx && ctx.abortEarly) {
            payload.value = newResult;
            return payload;
          }
        }

        if (${R}_present) {
          newResult[${Y}] = ${R}.value;
        }

      `)}return g.write("payload.value = newResult;"),g.write("return payload;"),g.compile()},i,a=jt,u=!le.jitless,l=u&&Ts.value,f=e.catchall,d;t._zod.parse=(p,m)=>{d??(d=o.value);let h=p.value;return a(h)?u&&l&&m?.async===!1&&m.jitless!==!0?(i||(i=s(e.shape)),p=i(p,m),f?ml([],h,p,m,d,t,m?.abortEarly===!0):p):r(p,m):(p.issues.push({expected:"object",code:"invalid_type",input:h,inst:t}),p)}});function bc(t,e,r,o){for(let s of t)if(s.issues.length===0)return e.value=s.value,e;let n=t.filter(s=>!pe(s));return n.length===1?(e.value=n[0].value,n[0]):(e.issues.push({code:"invalid_union",input:e.value,inst:r,errors:t.map(s=>s.issues.map(i=>Pe(i,o,me())))}),e)}var gl=w("$ZodUnion",(t,e)=>{B.init(t,e),M(t,"optin",o=>o.def.options.some(n=>n._zod.optin==="defaulted")?"defaulted":o.def.options.some(n=>n._zod.optin!==void 0)?"optional":void 0),M(t,"optout",o=>o.def.options.some(n=>n._zod.optout==="optional")?"optional":void 0),M(t,"values",o=>{if(o.def.options.every(n=>n._zod.values))return new Set(o.def.options.flatMap(n=>Array.from(n._zod.values)))}),M(t,"pattern",o=>{if(o.def.options.every(n=>n._zod.pattern)){let n=o.def.options.map(s=>s._zod.pattern);return new RegExp(`^(${n.map(s=>vr(s.source)).join("|")})$`)}});let r=e.options.length===1?e.options[0]._zod.run:null;t._zod.parse=(o,n)=>{if(r)return r(o,n);let s=!1,i=[];for(let a of e.options){let u=a._zod.run({value:o.value,issues:[]},n);if(u instanceof Promise)i.push(u),s=!0;else{if(u.issues.length===0)return u;i.push(u)}}return s?Promise.all(i).then(a=>bc(a,o,t,n)):bc(i,o,t,n)}});var wl=w("$ZodIntersection",(t,e)=>{B.init(t,e),t._zod.parse=(r,o)=>{let n=r.value,s=e.left._zod.run({value:n,issues:[]},o),i=e.right._zod.run({value:n,issues:[]},o);return s instanceof Promise||i instanceof Promise?Promise.all([s,i]).then(([u,c])=>vc(r,u,c)):vc(r,s,i)}});function Fs(t,e){if(t===e)return{valid:!0,data:t};if(t instanceof Date&&e instanceof Date&&+t==+e)return{valid:!0,data:t};if(ut(t)&&ut(e)){let r=Object.keys(e),o=Object.keys(t).filter(s=>r.indexOf(s)!==-1),n={...t,...e};Object.prototype.hasOwnProperty.call(n,"__proto__")&&delete n.__proto__;for(let s of o){if(s==="__proto__")continue;let i=Fs(t[s],e[s]);if(!i.valid)return{valid:!1,mergeErrorPath:[s,...i.mergeErrorPath]};n[s]=i.data}return{valid:!0,data:n}}if(Array.isArray(t)&&Array.isArray(e)){if(t.length!==e.length)return{valid:!1,mergeErrorPath:[]};let r=[];for(let o=0;o<t.length;o++){let n=t[o],s=e[o],i=Fs(n,s);if(!i.valid)return{valid:!1,mergeErrorPath:[o,...i.mergeErrorPath]};r.push(i.data)}return{valid:!0,data:r}}return{valid:!1,mergeErrorPath:[]}}function vc(t,e,r){let o=new Map,n,s=new Map,i=(c,l)=>{let f;if(c.code==="unrecognized_keys"&&!c.path?.length)n??(n=c),f=c.keys;else if(c.code==="invalid_key"&&c.origin==="record"&&c.path?.length===1){let d=String(c.path[0]);s.has(d)||s.set(d,c),f=[d]}else return!1;for(let d of f)o.has(d)||o.set(d,{}),o.get(d)[l]=!0;return!0};for(let c of e.issues)i(c,"l")||t.issues.push(c);for(let c of r.issues)i(c,"r")||t.issues.push(c);let a=[...o].filter(([,c])=>c.l&&c.r).map(([c])=>c);if(a.length){let c=n?a.filter(l=>n.keys.includes(l)):[];c.length&&t.issues.push({...n,keys:c});for(let l of a)!c.includes(l)&&s.has(l)&&t.issues.push(s.get(l))}let u=Fs(e.value,r.value);if(!u.valid){if(pe(t))return t;throw new Error(`Unmergable intersection. Error path: ${JSON.stringify(u.mergeErrorPath)}`)}return t.value=u.data,t}var _l=w("$ZodTuple",(t,e)=>{B.init(t,e);let r=e.items,o=le.memoizer;o?.attach(t),t._zod.parse=(n,s)=>{let i=n.value;if(!Array.isArray(i))return n.issues.push({input:i,inst:t,expected:"tuple",code:"invalid_type"}),n;n.value=o?o.alloc(t,n,[],s):[];let a=[],u=Sc(r,"optin"),c=Sc(r,"optout");if(!e.rest){if(i.length<u)return n.issues.push({code:"too_small",minimum:u,inclusive:!0,input:i,inst:t,origin:"array"}),n;i.length>r.length&&n.issues.push({code:"too_big",maximum:r.length,inclusive:!0,input:i,inst:t,origin:"array"})}let l=new Array(r.length),f=e.rest?s?.abortEarly:void 0,d=!1;for(let p=0;p<r.length;p++){let m=r[p]._zod.run({value:i[p],issues:[]},s);m instanceof Promise?a.push(m.then(h=>{l[p]=h})):(l[p]=m,f&&!d&&m.issues.length&&(d=pe(m)))}if(e.rest&&!d){let p=r.length-1,m=i.slice(r.length),h=n.issues.length;for(let g of m){if(f&&n.issues.length!==h){if(pe(n,h))break;h=n.issues.length}p++;let _=e.rest._zod.run({value:g,issues:[]},s);_ instanceof Promise?a.push(_.then(x=>kc(x,n,p))):kc(_,n,p)}}return a.length?Promise.all(a).then(()=>Ec(l,n,r,i,c)):Ec(l,n,r,i,c)}});function Sc(t,e){for(let r=t.length-1;r>=0;r--)if(!(e==="optin"?t[r]._zod.optin!==void 0:t[r]._zod.optout==="optional"))return r+1;return 0}function kc(t,e,r){t.issues.length&&e.issues.push(...Oe(r,t.issues)),e.value[r]=t.value}function Ec(t,e,r,o,n){for(let s=0;s<r.length;s++){let i=t[s],a=s<o.length;if(!a&&s>=n&&r[s]._zod.optin==="optional"){e.value.length=s;break}if(i.issues.length){if(!a&&s>=n){e.value.length=s;break}e.issues.push(...Oe(s,i.issues))}e.value[s]=i.value}for(let s=e.value.length-1;s>=o.length&&(r[s]._zod.optout==="optional"&&e.value[s]===void 0);s--)e.value.length=s;return e}var xl=w("$ZodRecord",(t,e)=>{B.init(t,e);let r=le.memoizer;r?.attach(t),t._zod.parse=(o,n)=>{let s=o.value;if(!ut(s))return o.issues.push({expected:"record",code:"invalid_type",input:s,inst:t}),o;let i=[],a=e.keyType._zod.values;if(a&&!e.partial){o.value=r?r.alloc(t,o,{},n):{};let u=new Set;for(let l of a)if(typeof l=="string"||typeof l=="number"||typeof l=="symbol"){if(u.add(typeof l=="number"?l.toString():l),l==="__proto__")continue;let f=e.keyType._zod.run({value:l,issues:[]},n);if(f instanceof Promise)throw new Error("Async schemas not supported in object keys currently");if(f.issues.length){o.issues.push({code:"invalid_key",origin:"record",issues:f.issues.map(m=>Pe(m,n,me())),input:l,path:[l],inst:t});continue}let d=f.value;if(d==="__proto__")continue;let p=e.valueType._zod.run({value:s[l],issues:[]},n);p instanceof Promise?i.push(p.then(m=>{m.issues.length&&o.issues.push(...Oe(l,m.issues)),o.value[d]=m.value})):(p.issues.length&&o.issues.push(...Oe(l,p.issues)),o.value[d]=p.value)}let c;for(let l in s)if(!u.has(l))if(e.mode==="loose"){if(l==="__proto__")continue;o.value[l]=s[l]}else c=c??[],c.push(l);c&&c.length>0&&o.issues.push({code:"unrecognized_keys",input:s,inst:t,keys:c,continue:!0})}else{o.value=r?r.alloc(t,o,{},n):{};let u;for(let c of Reflect.ownKeys(s)){if(c==="__proto__"||!Object.prototype.propertyIsEnumerable.call(s,c))continue;let l=e.keyType._zod.run({value:c,issues:[]},n);if(l instanceof Promise)throw new Error("Async schemas not supported in object keys currently");if(typeof c=="string"&&zr.test(c)&&l.issues.length){let m=e.keyType._zod.run({value:Number(c),issues:[]},n);if(m instanceof Promise)throw new Error("Async schemas not supported in object keys currently");m.issues.length===0&&(l=m)}if(l.issues.length){e.mode==="loose"?o.value[c]=s[c]:a?(u=u??[],u.push(c)):o.issues.push({code:"invalid_key",origin:"record",issues:l.issues.map(m=>Pe(m,n,me())),input:c,path:[c],inst:t});continue}let d=l.value;if(d==="__proto__")continue;let p=e.valueType._zod.run({value:s[c],issues:[]},n);p instanceof Promise?i.push(p.then(m=>{m.issues.length&&o.issues.push(...Oe(c,m.issues)),o.value[d]=m.value})):(p.issues.length&&o.issues.push(...Oe(c,p.issues)),o.value[d]=p.value)}u&&u.length>0&&o.issues.push({code:"unrecognized_keys",input:s,inst:t,keys:u,continue:!0})}return i.length?Promise.all(i).then(()=>o):o}});var yl=w("$ZodEnum",(t,e)=>{B.init(t,e);let r=Ft(e.entries),o=new Set(r);t._zod.values=o,M(t,"pattern",n=>{let s=Ft(n.def.entries).filter(i=>zs.has(typeof i));return new RegExp(s.length?`^(${s.map(i=>We(i.toString())).join("|")})$`:"^[^\\s\\S]$")}),t._zod.parse=(n,s)=>{let i=n.value;return o.has(i)||n.issues.push({code:"invalid_value",values:r,input:i,inst:t}),n}}),bl=w("$ZodLiteral",(t,e)=>{B.init(t,e);let r=new Set(e.values);t._zod.values=r,M(t,"pattern",o=>{let n=o.def.values;return new RegExp(n.length?`^(${n.map(s=>typeof s=="string"?We(s):s?We(s.toString()):String(s)).join("|")})$`:"^[^\\s\\S]$")}),t._zod.parse=(o,n)=>{let s=o.value;return r.has(s)||o.issues.push({code:"invalid_value",values:e.values,input:s,inst:t}),o}});var vl=w("$ZodTransform",(t,e)=>{B.init(t,e),t._zod.optin="optional",le.memoizer?.guard(t),t._zod.parse=(r,o)=>{if(o.direction==="backward")throw new Gt(t.constructor.name);let n=e.transform(r.value,r);if(o.async)return(n instanceof Promise?n:Promise.resolve(n)).then(i=>(r.value=i,r));if(n instanceof Promise)throw new Re;return r.value=n,r}});function Ac(t,e){return t.value=e.issues.length?void 0:e.value,t}var Ws=w("$ZodOptional",(t,e)=>{B.init(t,e),M(t,"optin",r=>r.def.innerType._zod.optin==="defaulted"?"defaulted":"optional"),t._zod.optout="optional",M(t,"values",r=>{let o=r.def.innerType._zod.values;return o?new Set([...o,void 0]):void 0}),M(t,"pattern",r=>{let o=r.def.innerType._zod.pattern;return o?new RegExp(`^(${vr(o.source)})?$`):void 0}),t._zod.parse=(r,o)=>{if(r.value===void 0){if(e.innerType._zod.optin!=="defaulted")return r;let n=e.innerType._zod.run({value:r.value,issues:[]},o);return n instanceof Promise?n.then(s=>Ac(r,s)):Ac(r,n)}return e.innerType._zod.run(r,o)}}),Sl=w("$ZodExactOptional",(t,e)=>{Ws.init(t,e),M(t,"values",r=>r.def.innerType._zod.values),M(t,"pattern",r=>r.def.innerType._zod.pattern),t._zod.parse=(r,o)=>e.innerType._zod.run(r,o)}),kl=w("$ZodNullable",(t,e)=>{B.init(t,e),M(t,"optin",r=>r.def.innerType._zod.optin),M(t,"optout",r=>r.def.innerType._zod.optout),M(t,"pattern",r=>{let o=r.def.innerType._zod.pattern;return o?new RegExp(`^(${vr(o.source)}|null)$`):void 0}),M(t,"values",r=>r.def.innerType._zod.values?new Set([...r.def.innerType._zod.values,null]):void 0),t._zod.parse=(r,o)=>r.value===null?r:e.innerType._zod.run(r,o)}),El=w("$ZodDefault",(t,e)=>{B.init(t,e),t._zod.optin="defaulted",M(t,"values",r=>r.def.innerType._zod.values),t._zod.parse=(r,o)=>{if(o.direction==="backward")return e.innerType._zod.run(r,o);if(r.value===void 0)return r.value=e.defaultValue,r;let n=e.innerType._zod.run(r,o);return n instanceof Promise?n.then(s=>Tc(s,e)):Tc(n,e)}});function Tc(t,e){return t.value===void 0&&(t.value=e.defaultValue),t}var Al=w("$ZodPrefault",(t,e)=>{B.init(t,e),t._zod.optin="defaulted",M(t,"values",r=>r.def.innerType._zod.values),t._zod.parse=(r,o)=>(o.direction==="backward"||r.value===void 0&&(r.value=e.defaultValue),e.innerType._zod.run(r,o))}),Tl=w("$ZodNonOptional",(t,e)=>{B.init(t,e),M(t,"values",r=>{let o=r.def.innerType._zod.values;return o?new Set([...o].filter(n=>n!==void 0)):void 0}),t._zod.parse=(r,o)=>{let n=e.innerType._zod.run(r,o);return n instanceof Promise?n.then(s=>zc(s,t)):zc(n,t)}});function zc(t,e){return!t.issues.length&&t.value===void 0&&t.issues.push({code:"invalid_type",expected:"nonoptional",input:t.value,inst:e}),t}function $c(t,e,r,o){return e.issues.length?(t.value=r.catchValue({...e,value:t.value,error:{issues:e.issues.map(n=>Pe(n,o,me()))},input:t.value}),t):(t.value=e.value,e.memo&&(t.memo=!0),t)}var zl=w("$ZodCatch",(t,e)=>{B.init(t,e),M(t,"optin",r=>r.def.innerType._zod.optin==="defaulted"?"defaulted":"optional"),M(t,"optout",r=>r.def.innerType._zod.optout),M(t,"values",r=>r.def.innerType._zod.values),t._zod.parse=(r,o)=>{if(o.direction==="backward")return e.innerType._zod.run(r,o);let n=e.innerType._zod.run({value:r.value,issues:[]},o);return n instanceof Promise?n.then(s=>$c(r,s,e,o)):$c(r,n,e,o)}});var $l=w("$ZodPipe",(t,e)=>{B.init(t,e),M(t,"values",r=>r.def.in._zod.values),M(t,"optin",r=>r.def.in._zod.optin),M(t,"optout",r=>r.def.out._zod.optout),M(t,"propValues",r=>r.def.in._zod.propValues),t._zod.parse=(r,o)=>{if(o.direction==="backward"){let s=e.out._zod.run(r,o);return s instanceof Promise?s.then(i=>Mo(i,e.in,o)):Mo(s,e.in,o)}let n=e.in._zod.run(r,o);return n instanceof Promise?n.then(s=>Mo(s,e.out,o)):Mo(n,e.out,o)}});function Mo(t,e,r){return t.issues.some(o=>o.code!=="unrecognized_keys")?(t.aborted=!0,t):e._zod.run({value:t.value,issues:t.issues},r)}var Ol=w("$ZodReadonly",(t,e)=>{B.init(t,e),M(t,"propValues",r=>r.def.innerType._zod.propValues),M(t,"values",r=>r.def.innerType._zod.values),M(t,"optin",r=>r.def.innerType?._zod?.optin),M(t,"optout",r=>r.def.innerType?._zod?.optout),t._zod.parse=(r,o)=>{if(o.direction==="backward")return e.innerType._zod.run(r,o);let n=e.innerType._zod.run(r,o);return n instanceof Promise?n.then(Oc):Oc(n)}});function Oc(t){return t.memo||(t.value=Object.freeze(t.value)),t}var Pl=w("$ZodCustom",(t,e)=>{ee.init(t,e),B.init(t,e),t._zod.parse=(r,o)=>r,t._zod.check=r=>{let o=r.value,n=e.fn(o);if(n instanceof Promise)return n.then(s=>Pc(s,r,o,t));Pc(n,r,o,t)}});function Pc(t,e,r,o){if(!t){let n={code:"custom",input:r,inst:o,path:[...o._zod.def.path??[]],continue:!o._zod.def.abort};o._zod.def.params&&(n.params=o._zod.def.params),e.issues.push(Kt(n))}}var Ys=class extends Error{constructor(){super("Cannot parse a reference cycle that closes through a transform"),this.name="ZodCyclicError"}},Js="~memo",Rl=[];function Ml(t){return t!==null&&typeof t=="object"}function Vs(t){return t.map(e=>e.path?{...e,path:e.path.slice()}:{...e})}var Il=new WeakMap,Pr=0,Zo=1,Rr=2;function Uo(t,e,r){let o=Il.get(t);if(o!==void 0)return o?Rr:Pr;if(e.has(t))return Rr;e.add(t);let n=Pr,s=l=>{if(n!==Rr&&l?._zod){let f=Uo(l,e,r);f>n&&(n=f)}},i=(l,f)=>{let d=Pr;for(let p of Reflect.ownKeys(l)){let m=Object.getOwnPropertyDescriptor(l,p);if(f&&!m.enumerable)continue;let h=m.get?Zo:m.value?._zod?Uo(m.value,e,r):Pr;h>d&&(d=h)}return d},a=l=>{l>n&&(n=l)},u=t._zod.def,c=u.type;switch(c){case"object":{let l=Sr(u);a(l?i(l,!0):Zo),s(u.catchall);break}case"array":s(u.element);break;case"tuple":for(let l of u.items)s(l);s(u.rest);break;case"record":case"map":s(u.keyType),s(u.valueType);break;case"set":s(u.valueType);break;case"union":for(let l of u.options)s(l);break;case"intersection":s(u.left),s(u.right);break;case"optional":case"nullable":case"default":case"prefault":case"catch":case"readonly":case"nonoptional":case"promise":case"success":s(u.innerType);break;case"pipe":s(u.in),s(u.out);break;case"function":s(u.input),s(u.output);break;case"lazy":{let l=u._cachedInner??(r?t._zod.innerType:void 0);a(l?Uo(l,e,!1):Zo);break}case"template_literal":case"string":case"number":case"int":case"boolean":case"bigint":case"symbol":case"undefined":case"null":case"void":case"never":case"any":case"unknown":case"date":case"nan":case"enum":case"literal":case"file":case"transform":case"custom":break;default:for(let l in u){let f=Object.getOwnPropertyDescriptor(u,l);if(!f||f.get)continue;let d=f.value;if(!(!d||typeof d!="object")){if(d._zod)s(d);else if(Array.isArray(d))for(let p of d)s(p)}}}return e.delete(t),Z_(t,n)}function Z_(t,e){return e!==Zo&&Il.set(t,e===Rr),e}function U_(t,e){let r=t.buckets.get(e);return r||(r=new WeakMap,t.buckets.set(e,r)),r}var Do,Bo=[],q_={alloc(t,e,r){let o=Do;if(!o)return r;Do=void 0;let n={value:r,issues:null};return o.set(e.value,n),Bo.push(n),r},guard(t){var e;(e=t._zod).deferred??(e.deferred=[]),t._zod.deferred.push(()=>{let r=t._zod.parse,o=(n,s)=>{if(s.direction!=="backward"&&j_(s,n.value))throw new Ys;return r(n,s)};t._zod.parse=o,t._zod.run===r&&(t._zod.run=o)})},attach(t){var e;let r,o=!1,n,s;(e=t._zod).deferred??(e.deferred=[]),t._zod.deferred.push(()=>{let i=t._zod.parse,a=(u,c)=>{if(r===void 0){let _=Uo(t,new Set,!1);if(_===Pr)return t._zod.parse=i,t._zod.run===a&&(t._zod.run=i),i(u,c);_===Rr||o?r=!0:o=!0}let l=u.value;if(!Ml(l))return i(u,c);let f=c[Js];f||(f={buckets:new WeakMap,backEdges:void 0},c[Js]=f);let d;n===c?d=s:(d=U_(f,t),n=c,s=d);let p=d.get(l);if(p)return u.value=p.value,p.issues?p.issues.length&&u.issues.push(...Vs(p.issues)):(u.memo=!0,f.backEdges??(f.backEdges=new WeakSet),f.backEdges.add(p.value)),u;Do=d;let m=Bo.length,h=i(u,c);Do=void 0;let g=Bo.length>m?Bo.pop():void 0;return h instanceof Promise?h.then(_=>(g&&(g.issues=_.issues.length?Vs(_.issues):Rl),_)):(g&&(g.issues=h.issues.length?Vs(h.issues):Rl),h)};t._zod.parse=a,t._zod.run===i&&(t._zod.run=a)})}};function Nl(){return q_}function j_(t,e){let r=t[Js]?.backEdges;return r!==void 0&&Ml(e)&&r.has(e)}var F_=()=>{let t={string:{unit:"characters",verb:"to have"},file:{unit:"bytes",verb:"to have"},array:{unit:"items",verb:"to have"},set:{unit:"items",verb:"to have"},map:{unit:"entries",verb:"to have"}};function e(s){return t[s]??null}let r={regex:"input",email:"email address",url:"URL",emoji:"emoji",uuid:"UUID",uuidv4:"UUIDv4",uuidv6:"UUIDv6",nanoid:"nanoid",guid:"GUID",cuid:"cuid",cuid2:"cuid2",ulid:"ULID",xid:"XID",ksuid:"KSUID",datetime:"ISO datetime",date:"ISO date",time:"ISO time",duration:"ISO duration",ipv4:"IPv4 address",ipv6:"IPv6 address",mac:"MAC address",cidrv4:"IPv4 range",cidrv6:"IPv6 range",base64:"base64-encoded string",base64url:"base64url-encoded string",json_string:"JSON string",e164:"E.164 number",currency_code:"currency code",credit_card:"credit card number",iban:"IBAN",jwt:"JWT",template_literal:"input"},o={nan:"NaN"};function n(s,i){return s==="number"&&typeof i=="number"&&!Number.isFinite(i)?String(i):o[s]??s}return s=>{switch(s.code){case"invalid_type":{let i=n(s.expected),a=Ps(s.input),u=n(a,s.input);return`Invalid input: expected ${i}, received ${u}`}case"invalid_value":return s.values.length===1?`Invalid input: expected ${bo(s.values[0])}`:`Invalid option: expected one of ${xo(s.values,"|")}`;case"too_big":{let i=s.exact?"exactly ":s.inclusive?"<=":"<",a=e(s.origin);return a?`Too big: expected ${s.origin??"value"} to have ${i}${s.maximum.toString()} ${a.unit??"elements"}`:`Too big: expected ${s.origin??"value"} to be ${i}${s.maximum.toString()}`}case"too_small":{let i=s.exact?"exactly ":s.inclusive?">=":">",a=e(s.origin);return a?`Too small: expected ${s.origin} to have ${i}${s.minimum.toString()} ${a.unit}`:`Too small: expected ${s.origin} to be ${i}${s.minimum.toString()}`}case"invalid_format":{let i=s;return i.format==="starts_with"?`Invalid string: must start with "${i.prefix}"`:i.format==="ends_with"?`Invalid string: must end with "${i.suffix}"`:i.format==="includes"?`Invalid string: must include "${i.includes}"`:i.format==="regex"?`Invalid string: must match pattern ${i.pattern}`:`Invalid ${r[i.format]??s.format}`}case"not_multiple_of":return`Invalid number: must be a multiple of ${s.divisor}`;case"unrecognized_keys":return`Unrecognized key${s.keys.length>1?"s":""}: ${xo(s.keys,", ")}`;case"invalid_key":return`Invalid key in ${s.origin}`;case"invalid_union":return s.options&&Array.isArray(s.options)&&s.options.length>0?`Invalid discriminator value. Expected ${s.options.map(a=>`'${a}'`).join(" | ")}`:s.inclusive===!1?"Invalid input: more than one option matched":"Invalid input";case"invalid_element":return`Invalid value in ${s.origin}`;default:return"Invalid input"}}};function Ll(){return{localeError:F_()}}var Cl;var Xs=class{constructor(){this._map=new WeakMap,this._idmap=new Map}add(e,...r){let o=r[0];return this._map.set(e,o),o&&typeof o=="object"&&"id"in o&&this._idmap.set(o.id,e),this}clear(){return this._map=new WeakMap,this._idmap=new Map,this}remove(e){let r=this._map.get(e);return r&&typeof r=="object"&&"id"in r&&this._idmap.delete(r.id),this._map.delete(e),this}get(e){let r=e._zod.parent;if(r){let o={...this.get(r)??{}};delete o.id;let n={...o,...this._map.get(e)};return Object.keys(n).length?n:void 0}return this._map.get(e)}has(e){return this._map.has(e)}};function H_(){return new Xs}(Cl=globalThis).__zod_globalRegistry??(Cl.__zod_globalRegistry=H_());var bt=globalThis.__zod_globalRegistry;function qo(t){return t.checks&&(t.checks=[...t.checks]),t}function Dl(t,e){return new t(qo({type:"string",...k(e)}))}function Bl(t,e){return new t(qo({type:"string",coerce:!0,...k(e)}))}function Zl(t,e){return new t({type:"string",format:"email",check:"string_format",abort:!1,...k(e)})}function Ul(t,e){return new t({type:"string",format:"guid",check:"string_format",abort:!1,...k(e)})}function ql(t,e){return new t({type:"string",format:"uuid",check:"string_format",abort:!1,...k(e)})}function jl(t,e){return new t({type:"string",format:"uuid",check:"string_format",abort:!1,version:"v4",...k(e)})}function Fl(t,e){return new t({type:"string",format:"uuid",check:"string_format",abort:!1,version:"v6",...k(e)})}function Hl(t,e){return new t({type:"string",format:"uuid",check:"string_format",abort:!1,version:"v7",...k(e)})}function Kl(t,e){return new t({type:"string",format:"url",check:"string_format",abort:!1,...k(e)})}function Gl(t,e){return new t({type:"string",format:"emoji",check:"string_format",abort:!1,...k(e)})}function Wl(t,e){return new t({type:"string",format:"nanoid",check:"string_format",abort:!1,...k(e)})}function Vl(t,e){return new t({type:"string",format:"cuid",check:"string_format",abort:!1,...k(e)})}function Yl(t,e){return new t({type:"string",format:"cuid2",check:"string_format",abort:!1,...k(e)})}function Jl(t,e){return new t({type:"string",format:"ulid",check:"string_format",abort:!1,...k(e)})}function Xl(t,e){return new t({type:"string",format:"xid",check:"string_format",abort:!1,...k(e)})}function Ql(t,e){return new t({type:"string",format:"ksuid",check:"string_format",abort:!1,...k(e)})}function ef(t,e){return new t({type:"string",format:"ipv4",check:"string_format",abort:!1,...k(e)})}function tf(t,e){return new t({type:"string",format:"ipv6",check:"string_format",abort:!1,...k(e)})}function rf(t,e){return new t({type:"string",format:"cidrv4",check:"string_format",abort:!1,...k(e)})}function of(t,e){return new t({type:"string",format:"cidrv6",check:"string_format",abort:!1,...k(e)})}function nf(t,e){return new t({type:"string",format:"base64",check:"string_format",abort:!1,...k(e)})}function sf(t,e){return new t({type:"string",format:"base64url",check:"string_format",abort:!1,...k(e)})}function af(t,e){return new t({type:"string",format:"e164",check:"string_format",abort:!1,...k(e)})}function uf(t,e){return new t({type:"string",format:"jwt",check:"string_format",abort:!1,...k(e)})}function cf(t,e){return new t({type:"string",format:"datetime",check:"string_format",offset:!1,local:!1,precision:null,...k(e)})}function lf(t,e){return new t({type:"string",format:"date",check:"string_format",...k(e)})}function ff(t,e){return new t({type:"string",format:"time",check:"string_format",precision:null,...k(e)})}function df(t,e){return new t({type:"string",format:"duration",check:"string_format",...k(e)})}function pf(t,e){return new t(qo({type:"number",checks:[],...k(e)}))}function mf(t,e){return new t(qo({type:"number",coerce:!0,checks:[],...k(e)}))}function hf(t,e){return new t({type:"number",check:"number_format",abort:!1,format:"safeint",...k(e)})}function gf(t,e){return new t({type:"boolean",...k(e)})}function wf(t,e){return new t({type:"boolean",coerce:!0,...k(e)})}function _f(t,e){return new t({type:"bigint",coerce:!0,...k(e)})}function xf(t){return new t({type:"unknown"})}function yf(t,e){return new t({type:"never",...k(e)})}function bf(t,e){return new t({type:"date",coerce:!0,...k(e)})}function Wt(t,e){return new qs({check:"less_than",...k(e),value:t,inclusive:!1})}function Ve(t,e){return new qs({check:"less_than",...k(e),value:t,inclusive:!0})}function Vt(t,e){return new js({check:"greater_than",...k(e),value:t,inclusive:!1})}function Ye(t,e){return new js({check:"greater_than",...k(e),value:t,inclusive:!0})}function Mr(t,e){return new sc({check:"multiple_of",...k(e),value:t})}function jo(t,e){return new ac({check:"max_length",...k(e),maximum:t})}function Yt(t,e){return new uc({check:"min_length",...k(e),minimum:t})}function Fo(t,e){return new cc({check:"length_equals",...k(e),length:t})}function Qs(t,e){return new lc({check:"string_format",format:"regex",...k(e),pattern:t})}function ei(t){return new fc({check:"string_format",format:"lowercase",...k(t)})}function ti(t){return new dc({check:"string_format",format:"uppercase",...k(t)})}function ri(t,e){return new pc({check:"string_format",format:"includes",...k(e),includes:t})}function oi(t,e){return new mc({check:"string_format",format:"starts_with",...k(e),prefix:t})}function ni(t,e){return new hc({check:"string_format",format:"ends_with",...k(e),suffix:t})}function ct(t){return new gc({check:"overwrite",tx:t})}function si(t){return ct(e=>e.normalize(t))}function ii(){return ct(t=>t.trim())}function ai(){return ct(t=>t.toLowerCase())}function ui(){return ct(t=>t.toUpperCase())}function ci(){return ct(t=>As(t))}function vf(t,e,r){return new t({type:"array",element:e,...k(r)})}function Sf(t,e,r){return new t({type:"custom",check:"custom",fn:e,...k(r)})}function kf(t,e){let r=K_(o=>(o.addIssue=n=>{if(typeof n=="string")o.issues.push(Kt(n,o.value,r._zod.def));else{let s=n;s.fatal&&(s.continue=!1),s.code??(s.code="custom"),"input"in s||(s.input=o.value),s.inst??(s.inst=r),s.continue??(s.continue=!r._zod.def.abort),o.issues.push(Kt(s))}},t(o.value,o)),e);return r}function K_(t,e){let r=new ee({check:"custom",...k(e)});return r._zod.check=t,r}function Ir(t,...e){for(let r of e)for(let o of Reflect.ownKeys(r))Object.prototype.propertyIsEnumerable.call(r,o)&&be(t,o,r[o]);return t}function fi(t){let e=t?.target??"draft-2020-12";return e==="draft-4"&&(e="draft-04"),e==="draft-7"&&(e="draft-07"),{processors:t.processors??{},metadataRegistry:t?.metadata??bt,target:e,unrepresentable:t?.unrepresentable??"throw",override:t?.override??(()=>{}),io:t?.io??"output",counter:0,seen:new Map,sharedDefsExtractedFor:void 0,sharedEmitDoneFor:void 0,cycles:t?.cycles??"ref",reused:t?.reused??"inline",intersections:[],deferred:[],external:t?.external??void 0}}function Me(t,e,r,o,n){let s=typeof e.unrepresentable=="function"?e.unrepresentable({zodSchema:t,path:o.path,message:n}):e.unrepresentable;if(s==="any")return!1;if(s===void 0||s==="throw")throw new Error(n);return Object.assign(r,s),!0}function H(t,e,r={path:[],schemaPath:[]}){var o;let n=t._zod.def,s=e.seen.get(t);if(s)return s.count++,r.schemaPath.includes(t)&&(s.cycle=r.path),s.schema;let i={schema:{},count:1,cycle:void 0,path:r.path};e.seen.set(t,i),e.sharedDefsExtractedFor=void 0,e.sharedEmitDoneFor=void 0;let a=t._zod.toJSONSchema?.();if(a)i.schema=a;else{let l={...r,schemaPath:[...r.schemaPath,t],path:r.path};if(t._zod.processJSONSchema)t._zod.processJSONSchema(e,i.schema,l);else{let d=i.schema,p=e.processors[n.type];if(!p)throw new Error(`[toJSONSchema]: Non-representable type encountered: ${n.type}`);p(t,e,d,l)}let f=t._zod.parent;f&&(i.ref||(i.ref=f),H(f,e,l),e.seen.get(f).isParent=!0)}let u=e.metadataRegistry.get(t);return u&&Ir(i.schema,u),e.io==="input"&&fe(t)&&(delete i.schema.examples,delete i.schema.default),e.io==="input"&&"_prefault"in i.schema&&((o=i.schema).default??(o.default=i.schema._prefault)),delete i.schema._prefault,e.seen.get(t).schema}function Ef(t){return t.replace(/~/g,"~0").replace(/\//g,"~1")}function di(t,e){let r=t.seen.get(e);if(!r)throw new Error("Unprocessed schema. This is a bug in Zod.");if(t.external&&t.sharedDefsExtractedFor===t.external)return;let o=new Map;for(let i of t.seen.entries()){let a=t.metadataRegistry.get(i[0])?.id;if(a){let u=o.get(a);if(u&&u!==i[0])throw new Error(`Duplicate schema id "${a}" detected during JSON Schema conversion. Two different schemas cannot share the same id when converted together.`);o.set(a,i[0])}}let n=i=>{let a=t.target==="draft-2020-12"?"$defs":"definitions";if(t.external){let f=t.external.registry.get(i[0])?.id,d=t.external.uri??(m=>m);if(f)return{ref:d(f)};let p=i[1].defId??i[1].schema.id??`schema${t.counter++}`;return i[1].defId=p,{defId:p,ref:`${d("__shared")}#/${a}/${Ef(p)}`}}let u="#",c=`${u}/${a}/`;if(i[1]===r&&!i[1].schema.id)return{ref:u};let l=i[1].schema.id??`__schema${t.counter++}`;return{defId:l,ref:c+Ef(l)}},s=i=>{if(i[1].schema.$ref)return;let a=i[1],{ref:u,defId:c}=n(i);a.def={...a.schema},c&&(a.defId=c);let l=a.schema;for(let f in l)delete l[f];l.$ref=u};if(t.cycles==="throw")for(let i of t.seen.entries()){let a=i[1];if(a.cycle)throw new Error(`Cycle detected: #/${a.cycle?.join("/")}/<root>

Set the \`cycles\` parameter to \`"ref"\` to resolve cyclical schemas with defs.`)}for(let i of t.seen.entries()){let a=i[1];if(e===i[0]){s(i);continue}if(t.external){let c=t.external.registry.get(i[0])?.id;if(e!==i[0]&&c){s(i);continue}}if(t.metadataRegistry.get(i[0])?.id){s(i);continue}if(a.cycle){s(i);continue}a.count>1&&t.reused==="ref"&&s(i)}t.external&&(t.sharedDefsExtractedFor=t.external)}function zf(t){let e=t.anyOf;if(!Array.isArray(e)||e.length===0||t.type!==void 0)return;let r=[];for(let o of e){if(!o||typeof o!="object")return;zf(o);let n=Object.keys(o);if(n.length!==1||n[0]!=="type")return;let s=o.type;for(let i of Array.isArray(s)?s:[s]){if(typeof i!="string")return;r.includes(i)||r.push(i)}}delete t.anyOf,t.type=r.length===1?r[0]:r}var $f=new Set(["type","properties","required","additionalProperties"]),Af=["oneOf","anyOf"];function Tf(t){let e=t.additionalProperties;return e===void 0||e===!1||typeof e!="object"||e===null?null:Object.keys(e).length?e:null}function li(t){let e=[];for(let s of t){if(typeof s!="object"||s.type!=="object")return null;for(let i in s)if(!$f.has(i))return null;e.push(s)}let r={},o=new Set;for(let s of e){for(let i in s.properties){if(Object.prototype.hasOwnProperty.call(r,i))continue;let a=[];for(let c of e){let l=c.properties?.[i]??Tf(c);l!=null&&(a.some(f=>JSON.stringify(f)===JSON.stringify(l))||a.push(l))}let u=a.length===1?a[0]:li(a)??{allOf:a};be(r,i,u)}for(let i of s.required??[])o.add(i)}let n={type:"object",properties:r};if(o.size&&(n.required=[...o]),e.every(s=>s.additionalProperties===!1))n.additionalProperties=!1;else{let s=[];for(let i of e){let a=Tf(i);a&&!s.some(u=>JSON.stringify(u)===JSON.stringify(a))&&s.push(a)}s.length===1?n.additionalProperties=s[0]:s.length>1&&(n.additionalProperties={allOf:s})}return n}function G_(t){let e=t.allOf;if(!Array.isArray(e)||e.length<2)return;for(let n of $f)if(n in t)return;let r=e.filter(n=>Af.some(s=>Array.isArray(n[s]))),o=null;if(!r.length)o=li(e);else{let n=r[0],s=Af.find(u=>Array.isArray(n[u]));if(Object.keys(n).length!==1)return;let i=e.filter(u=>u!==n),a=n[s].map(u=>li([...i,u]));if(a.some(u=>!u))return;o={[s]:a}}o&&(delete t.allOf,Ir(t,o))}function pi(t,e){let r=t.seen.get(e);if(!r)throw new Error("Unprocessed schema. This is a bug in Zod.");let o=a=>{let u=t.seen.get(a);if(u.ref===null)return;let c=u.def??u.schema,l={...c},f=u.ref;if(u.ref=null,f){o(f);let p=t.seen.get(f),m=p.schema;if(m.$ref&&(t.target==="draft-07"||t.target==="draft-04"||t.target==="openapi-3.0")?(c.allOf=c.allOf??[],c.allOf.push(m)):Ir(c,m),Ir(c,l),a._zod.parent===f)for(let g in c)g==="$ref"||g==="allOf"||g in l||delete c[g];if(m.$ref&&p.def)for(let g in c)g==="$ref"||g==="allOf"||g in p.def&&JSON.stringify(c[g])===JSON.stringify(p.def[g])&&delete c[g]}let d=a._zod.parent;if(d&&d!==f){o(d);let p=t.seen.get(d);if(p?.schema.$ref&&(c.$ref=p.schema.$ref,p.def))for(let m in c)m==="$ref"||m==="allOf"||m in p.def&&JSON.stringify(c[m])===JSON.stringify(p.def[m])&&delete c[m]}t.override({zodSchema:a,jsonSchema:c,path:u.path??[]})};if(!t.external||t.sharedEmitDoneFor!==t.external){for(let a of[...t.seen.entries()].reverse())o(a[0]);if(t.target!=="openapi-3.0")for(let a of t.seen.entries())zf(a[1].def??a[1].schema);for(let a of t.deferred)a();if(t.intersections.length){let a=new Map;for(let u of t.seen.values())for(let c of[u.schema,u.def]){let l=c?.allOf;if(!Array.isArray(l))continue;let f=a.get(l);f?f.push(c):a.set(l,[c])}for(let u of t.intersections)for(let c of a.get(u)??[])G_(c)}}let n={};if(t.target==="draft-2020-12"?n.$schema="https://json-schema.org/draft/2020-12/schema":t.target==="draft-07"?n.$schema="http://json-schema.org/draft-07/schema#":t.target==="draft-04"?n.$schema="http://json-schema.org/draft-04/schema#":t.target,t.external?.uri){let a=t.external.registry.get(e)?.id;if(!a)throw new Error("Schema is missing an `id` property");n.$id=t.external.uri(a)}Ir(n,r.defId?r.schema:r.def??r.schema);let s=t.metadataRegistry.get(e)?.id;s!==void 0&&n.id===s&&delete n.id;let i=t.external?.defs??{};if(!t.external||t.sharedEmitDoneFor!==t.external)for(let a of t.seen.entries()){let u=a[1];u.def&&u.defId&&(u.def.id===u.defId&&delete u.def.id,be(i,u.defId,u.def))}t.external&&(t.sharedEmitDoneFor=t.external),t.external||Object.keys(i).length>0&&(t.target==="draft-2020-12"?n.$defs=i:n.definitions=i);try{let a=JSON.parse(JSON.stringify(n));return Object.defineProperty(a,"~standard",{value:{...e["~standard"],jsonSchema:{input:Nr(e,"input",t.processors),output:Nr(e,"output",t.processors)}},enumerable:!1,writable:!1}),a}catch{throw new Error("Error converting schema to JSON.")}}function fe(t,e){let r=e??{seen:new Set};if(r.seen.has(t))return!1;r.seen.add(t);let o=t._zod.def;if(o.type==="transform")return!0;if(o.type==="array")return fe(o.element,r);if(o.type==="set")return fe(o.valueType,r);if(o.type==="lazy")return fe(o.getter(),r);if(o.type==="promise"||o.type==="optional"||o.type==="nonoptional"||o.type==="nullable"||o.type==="readonly"||o.type==="default"||o.type==="prefault"||o.type==="catch")return fe(o.innerType,r);if(o.type==="intersection")return fe(o.left,r)||fe(o.right,r);if(o.type==="record"||o.type==="map")return fe(o.keyType,r)||fe(o.valueType,r);if(o.type==="pipe")return t._zod.traits.has("$ZodCodec")?!0:fe(o.in,r)||fe(o.out,r);if(o.type==="object"){for(let n in o.shape)if(fe(o.shape[n],r))return!0;return!1}if(o.type==="union"){for(let n of o.options)if(fe(n,r))return!0;return!1}if(o.type==="tuple"){for(let n of o.items)if(fe(n,r))return!0;return!!(o.rest&&fe(o.rest,r))}return!1}var Of=(t,e={})=>r=>{let o=fi({...r,processors:e});return H(t,o),di(o,t),pi(o,t)},Nr=(t,e,r={})=>o=>{let{libraryOptions:n,target:s}=o??{},i=fi({...n??{},target:s,io:e,processors:r});return H(t,i),di(i,t),pi(i,t)};var Jt=(t,e,r)=>{(t[e]===void 0||r>t[e])&&(t[e]=r)},Xt=(t,e,r)=>{(t[e]===void 0||r<t[e])&&(t[e]=r)},Pf=(t,e)=>{Jt(t,"minimum",e),Xt(t,"maximum",e)},Nf=(t,e)=>{t.multipleOf??(t.multipleOf=[]),t.multipleOf.includes(e)||t.multipleOf.push(e)},Lf=(t,e)=>{t.patterns??(t.patterns=new Set),t.patterns.add(e)},Cf=(t,e)=>{t.mime=t.mime?t.mime.filter(r=>e.includes(r)):[...e]},Df=(t,e)=>{t.format=e,e.includes("int")&&(t.isInt=!0)},Rf=(t,e)=>Jt(t,"minimum",e.minimum),Mf=(t,e)=>Xt(t,"maximum",e.maximum),If=t=>(e,r)=>{Df(e,r.format);let[o,n]=t[r.format];Jt(e,"minimum",o),Xt(e,"maximum",n)},W_={greater_than:(t,e)=>Jt(t,e.inclusive?"minimum":"exclusiveMinimum",e.value),less_than:(t,e)=>Xt(t,e.inclusive?"maximum":"exclusiveMaximum",e.value),multiple_of:(t,e)=>Nf(t,e.value),number_format:If(kr),bigint_format:If(vo),min_length:Rf,max_length:Mf,length_equals:(t,e)=>Pf(t,e.length),min_size:Rf,max_size:Mf,size_equals:(t,e)=>Pf(t,e.size),string_format:(t,e)=>{Df(t,e.format),e.pattern&&Lf(t,e.pattern),(e.format==="base64"||e.format==="base64url")&&(t.contentEncoding=e.format),(e.local||e.precision===-1)&&(t.laxFormat=!0)},mime_type:(t,e)=>Cf(t,e.mime)};function J(t){let e={},r=t._zod.def,o=t._zod.traits.has("$ZodCheck")?[t,...r.checks??[]]:r.checks??[];for(let s of o)W_[s._zod.def.check]?.(e,s._zod.def);let n=t._zod.bag;n.minimum!==void 0&&Jt(e,"minimum",n.minimum),n.exclusiveMinimum!==void 0&&Jt(e,"exclusiveMinimum",n.exclusiveMinimum),n.maximum!==void 0&&Xt(e,"maximum",n.maximum),n.exclusiveMaximum!==void 0&&Xt(e,"exclusiveMaximum",n.exclusiveMaximum),n.multipleOf!==void 0&&Nf(e,n.multipleOf),n.format!==void 0&&(e.format??(e.format=n.format),n.format.includes("int")&&(e.isInt=!0)),n.mime&&Cf(e,n.mime);for(let s of n.patterns??[])Lf(e,s);return e}var V_={guid:"uuid",url:"uri",datetime:"date-time",json_string:"json-string",regex:""},Y_=new Map([[Ks,Ku],[Co,Gu]]),Bf=t=>Y_.get(t)??t,Zf=(t,e,r,o)=>{let n=r;n.type="string";let{minimum:s,maximum:i,format:a,patterns:u,contentEncoding:c,laxFormat:l}=J(t);if(typeof s=="number"&&(n.minLength=s),typeof i=="number"&&(n.maxLength=i),a&&(n.format=V_[a]??a,n.format===""&&delete n.format,(a==="time"||l)&&delete n.format),c&&(n.contentEncoding=c),u&&u.size>0){let f=[...u].map(Bf);f.length===1?n.pattern=f[0].source:f.length>1&&(n.allOf=[...f.map(d=>({...e.target==="draft-07"||e.target==="draft-04"||e.target==="openapi-3.0"?{type:"string"}:{},pattern:d.source}))])}},Uf=(t,e,r,o)=>{let n=r,{minimum:s,maximum:i,multipleOf:a,exclusiveMaximum:u,exclusiveMinimum:c,isInt:l}=J(t);n.type=l?"integer":"number";let f=typeof c=="number"&&c>=(s??Number.NEGATIVE_INFINITY),d=typeof u=="number"&&u<=(i??Number.POSITIVE_INFINITY),p=e.target==="draft-04"||e.target==="openapi-3.0";if(f?p?(n.minimum=c,n.exclusiveMinimum=!0):n.exclusiveMinimum=c:typeof s=="number"&&(n.minimum=s),d?p?(n.maximum=u,n.exclusiveMaximum=!0):n.exclusiveMaximum=u:typeof i=="number"&&(n.maximum=i),a){let m=new Set;for(let _ of a)Number.isFinite(_)&&_!==0?m.add(Math.abs(_)):Me(t,e,n,o,`A multipleOf divisor of ${_} cannot be represented in JSON Schema`);let[h,...g]=m;h!==void 0&&(n.multipleOf=h),g.length&&(n.allOf=[...n.allOf??[],...g.map(_=>({multipleOf:_}))])}},qf=(t,e,r,o)=>{r.type="boolean"},jf=(t,e,r,o)=>{Me(t,e,r,o,"BigInt cannot be represented in JSON Schema")};var Ff=(t,e,r,o)=>{r.not={}};var Hf=(t,e,r,o)=>{},Kf=(t,e,r,o)=>{Me(t,e,r,o,"Date cannot be represented in JSON Schema")},Gf=(t,e,r,o)=>{let n=t._zod.def,s=Ft(n.entries);if(s.length===0){r.not={};return}s.every(i=>typeof i=="number")&&(r.type="number"),s.every(i=>typeof i=="string")&&(r.type="string"),r.enum=s},Wf=(t,e,r,o)=>{let n=t._zod.def;if(n.values.length===0){r.not={};return}let s=[];for(let i of n.values)if(i===void 0){if(Me(t,e,r,o,"Literal `undefined` cannot be represented in JSON Schema"))return}else if(typeof i=="bigint"){if(Me(t,e,r,o,"BigInt literals cannot be represented in JSON Schema"))return;s.push(Number(i))}else s.push(i);if(s.length!==0)if(s.length===1){let i=s[0];r.type=i===null?"null":typeof i,e.target==="draft-04"||e.target==="openapi-3.0"?r.enum=[i]:r.const=i}else s.every(i=>typeof i=="number")&&(r.type="number"),s.every(i=>typeof i=="string")&&(r.type="string"),s.every(i=>typeof i=="boolean")&&(r.type="boolean"),s.every(i=>i===null)&&(r.type="null"),r.enum=s};var Vf=(t,e,r,o)=>{Me(t,e,r,o,"Custom types cannot be represented in JSON Schema")};var Yf=(t,e,r,o)=>{Me(t,e,r,o,"Transforms cannot be represented in JSON Schema")};var Jf=(t,e,r,o)=>{let n=r,s=t._zod.def,{minimum:i,maximum:a}=J(t);typeof i=="number"&&(n.minItems=i),typeof a=="number"&&(n.maxItems=a),n.type="array",n.items=H(s.element,e,{...o,path:[...o.path,"items"]})};function Lr(t){let e=t._zod.def;return e.type==="pipe"&&e.in._zod.traits.has("$ZodTransform")?Lr(e.out):e.type==="catch"?Lr(e.innerType):t._zod.optin}var Xf=(t,e,r,o)=>{let n=r,s=t._zod.def,i=s.shape;if(Object.getOwnPropertySymbols(i).length&&Me(t,e,n,o,"Symbol keys cannot be represented in JSON Schema"))return;n.type="object",n.properties={};for(let c in i)be(n.properties,c,H(i[c],e,{...o,path:[...o.path,"properties",c]}));let u=[];for(let c of Object.keys(i)){let l=s.shape[c];(e.io==="input"?Lr(l)===void 0:l._zod.optout===void 0)&&u.push(c)}u.length>0&&(n.required=u),s.catchall?._zod.def.type==="never"?n.additionalProperties=!1:s.catchall?s.catchall&&(n.additionalProperties=H(s.catchall,e,{...o,path:[...o.path,"additionalProperties"]})):e.io==="output"&&(n.additionalProperties=!1)},Qf=(t,e,r,o)=>{let n=t._zod.def,s=n.inclusive===!1,i=n.options.map((a,u)=>H(a,e,{...o,path:[...o.path,s?"oneOf":"anyOf",u]}));s?r.oneOf=i:r.anyOf=i},ed=(t,e,r,o)=>{let n=t._zod.def,s=H(n.left,e,{...o,path:[...o.path,"allOf",0]}),i=H(n.right,e,{...o,path:[...o.path,"allOf",1]}),a=c=>"allOf"in c&&Object.keys(c).length===1,u=[...a(s)?s.allOf:[s],...a(i)?i.allOf:[i]];r.allOf=u,e.intersections.push(u)},td=(t,e,r,o)=>{let n=r,s=t._zod.def;n.type="array";let i=e.target==="draft-2020-12"?"prefixItems":"items",a=e.target==="draft-2020-12"||e.target==="openapi-3.0"?"items":"additionalItems",u=s.items.map((h,g)=>H(h,e,{...o,path:[...o.path,i,g]})),c=s.rest?H(s.rest,e,{...o,path:[...o.path,a,...e.target==="openapi-3.0"?[s.items.length]:[]]}):null,l=s.items.length;for(;l>0;){let h=s.items[l-1];if(!(e.io==="input"?Lr(h)!==void 0:h._zod.optout==="optional"))break;l--}let f=s.items.length,d=!s.rest;e.target==="draft-2020-12"?(n.prefixItems=u,d?n.items=!1:c&&(n.items=c),l>0&&(n.minItems=l),d&&(n.maxItems=f)):e.target==="openapi-3.0"?(n.items={anyOf:u},c&&n.items.anyOf.push(c),l>0&&(n.minItems=l),d&&(n.maxItems=f)):(n.items=u,d?n.additionalItems=!1:c&&(n.additionalItems=c),l>0&&(n.minItems=l),d&&(n.maxItems=f));let{minimum:p,maximum:m}=J(t);typeof p=="number"&&(n.minItems=p),typeof m=="number"&&(n.maxItems=m)};function mi(t,e,r){if(e.$ref){if(r.has(e))return e;r.add(e);let m=t.get(e)?.def;if(!m)return e;let h=mi(t,m,r);return h===m?e:h}for(let m of["anyOf","oneOf"]){let h=e[m];if(!Array.isArray(h))continue;let g=h.map(_=>mi(t,_,r));g.some((_,x)=>_!==h[x])&&(e={...e,[m]:g})}let o=Array.isArray(e.type)?e.type:[e.type],n=!o.includes("string")&&o.some(m=>m==="number"||m==="integer"),s=e.enum??(e.const!==void 0?[e.const]:void 0);if(!n&&!s?.some(m=>typeof m=="number"))return e;let{minimum:i,maximum:a,exclusiveMinimum:u,exclusiveMaximum:c,multipleOf:l,format:f,id:d,...p}=e;return p.enum?p.enum=p.enum.map(m=>typeof m=="number"?String(m):m):typeof p.const=="number"&&(p.const=String(p.const)),n&&(p.type="string",s||(p.pattern=(o.includes("number")?zr:Zs).source)),p}var hi=new WeakMap;function J_(t){let e=new Map;for(let o of t.seen.values())o.def&&!e.has(o.schema)&&e.set(o.schema,o);let r=new Map;for(let o of hi.get(t)??[]){let n=t.seen.get(o),s=(n?.def??n?.schema)?.propertyNames;if(!s||s===!0||r.has(s))continue;let i=mi(e,s,new Set);i!==s&&r.set(s,i)}if(r.size)for(let o of t.seen.values())for(let n of[o.schema,o.def]){let s=n&&r.get(n.propertyNames);s&&(n.propertyNames=s)}}var rd=(t,e,r,o)=>{let n=r,s=t._zod.def;n.type="object";let i=s.keyType,a=J(i).patterns;if(s.mode==="loose"&&a&&a.size>0){let l=H(s.valueType,e,{...o,path:[...o.path,"patternProperties","*"]});n.patternProperties={};for(let f of a)be(n.patternProperties,Bf(f).source,l)}else{if(e.target==="draft-07"||e.target==="draft-2020-12"){n.propertyNames=H(s.keyType,e,{...o,path:[...o.path,"propertyNames"]});let l=hi.get(e);l||(l=[],hi.set(e,l),e.deferred.push(()=>J_(e))),l.push(t)}n.additionalProperties=H(s.valueType,e,{...o,path:[...o.path,"additionalProperties"]})}let u=i._zod.values,c=e.io==="input"&&Lr(s.valueType)!==void 0;if(u&&!s.partial&&!c){let l=[...u].filter(f=>typeof f=="string"||typeof f=="number");l.length>0&&(n.required=l.map(String))}},od=(t,e,r,o)=>{let n=t._zod.def,s=H(n.innerType,e,o),i=e.seen.get(t);e.target==="openapi-3.0"?(i.ref=n.innerType,r.nullable=!0):r.anyOf=[s,{type:"null"}]},nd=(t,e,r,o)=>{let n=t._zod.def;H(n.innerType,e,o);let s=e.seen.get(t);s.ref=n.innerType},gi=Symbol();function sd(t,e,r,o,n){let s=!1,i=JSON.stringify(t,(a,u)=>typeof u!="bigint"?u:(s=!0,null));return s?(Me(e,r,o,n,"BigInt defaults cannot be represented in JSON Schema"),gi):JSON.parse(i)}var id=(t,e,r,o)=>{let n=t._zod.def;H(n.innerType,e,o);let s=e.seen.get(t);s.ref=n.innerType;let i=sd(n.defaultValue,t,e,r,o);i!==gi&&(r.default=i)},ad=(t,e,r,o)=>{let n=t._zod.def;H(n.innerType,e,o);let s=e.seen.get(t);if(s.ref=n.innerType,e.io!=="input")return;let i=sd(n.defaultValue,t,e,r,o);i!==gi&&(r._prefault=i)},ud=(t,e,r,o)=>{let n=t._zod.def;H(n.innerType,e,o);let s=e.seen.get(t);s.ref=n.innerType;let i;try{i=n.catchValue(void 0)}catch{Me(t,e,r,o,"Dynamic catch values are not supported in JSON Schema");return}r.default=i},cd=(t,e,r,o)=>{let n=t._zod.def,s=n.in._zod.traits.has("$ZodTransform"),i=e.io==="input"?s?n.out:n.in:n.out;H(i,e,o);let a=e.seen.get(t);a.ref=i},ld=(t,e,r,o)=>{let n=t._zod.def;H(n.innerType,e,o);let s=e.seen.get(t);s.ref=n.innerType,r.readOnly=!0};var wi=(t,e,r,o)=>{let n=t._zod.def;H(n.innerType,e,o);let s=e.seen.get(t);s.ref=n.innerType};var fd=new WeakSet([Object.prototype,Error.prototype]);function Ho(t,e,r){Object.defineProperty(t,e,{configurable:!0,enumerable:!1,get(){let o=r(this);return Object.defineProperty(this,e,{value:o,configurable:!0,writable:!0}),o},set(o){Object.defineProperty(this,e,{value:o,configurable:!0,writable:!0})}})}var dd=(t,e)=>{xu.init(t,e),t.name="ZodError";let r=Object.getPrototypeOf(t);fd.has(r)||(fd.add(r),Ho(r,"format",o=>n=>bu(o,n)),Ho(r,"flatten",o=>n=>yu(o,n)),Ho(r,"addIssue",o=>n=>{o.issues.push(n),o.message=JSON.stringify(o.issues,Ht,2)}),Ho(r,"addIssues",o=>n=>{o.issues.push(...n),o.message=JSON.stringify(o.issues,Ht,2)}),Object.defineProperty(r,"isEmpty",{configurable:!0,enumerable:!1,get(){return this.issues.length===0}}))},Ko=w("ZodError",dd),he=w("ZodError",dd,void 0,{Parent:Error});var pd=To(he),md=zo(he),hd=$o(he),gd=Oo(he),wd=Su(he),_d=ku(he),xd=Eu(he),yd=Au(he),bd=Tu(he),vd=zu(he),Sd=$u(he),kd=Ou(he);function ax(){le.localeError||me(Ll())}function Dr(){le.memoizer||me({memoizer:Nl()})}var Z=w("ZodType",(t,e)=>(ax(),B.init(t,e),t.def=e,t.type=e.type,t),{check(...t){let e=this.def;return this.clone(A.mergeDefs(e,{checks:[...e.checks??[],...t.map(r=>typeof r=="function"?{_zod:{check:r,def:{check:"custom"},onattach:[]}}:r)]}),{parent:!0})},with(...t){return this.check(...t)},clone(t,e){return $e(this,t,e)},brand(){return this},register(t,e){return t.add(this,e),this},refine(t,e){return this.check(Vx(t,e))},superRefine(t,e){return this.check(Yx(t,e))},overwrite(t){return this.check(ct(t))},optional(){return Ad(this)},exactOptional(){return Bx(this)},nullable(){return Td(this)},nullish(){return Ad(Td(this))},nonoptional(t){return qx(this,t)},array(){return G(this)},or(t){return vi([this,t])},and(t){return Nx(this,t)},transform(t){return zd(this,Dx(t))},default(t){return Zx(this,t)},prefault(t){return Ux(this,t)},catch(t){return Fx(this,t)},pipe(t){return zd(this,t)},readonly(){return Gx(this)},describe(t){let e=this.clone();return bt.add(e,{description:t}),e},meta(...t){if(t.length===0)return bt.get(this);let e=this.clone();return bt.add(e,t[0]),e},isOptional(){return this.safeParse(void 0).success},isNullable(){return this.safeParse(null).success},apply(t,...e){return e.length===0?t(this):t(this,...e)},get"~standard"(){return A.hide(this,"~standard",{...Hs(this),jsonSchema:{input:Nr(this,"input"),output:Nr(this,"output")}})},set"~standard"(t){A.own(this,"~standard",t)},parse:function t(e,r){return pd(this,e,r,{callee:t})},parseAsync:async function t(e,r){return await md(this,e,r,{callee:t})},safeParse(t,e){return hd(this,t,e)},async safeParseAsync(t,e){return gd(this,t,e)},get spa(){return this?.safeParseAsync},set spa(t){A.own(this,"spa",t)},validate(t,e){return Ls(this,t,e)},validateAsync(t,e){return Cs(this,t,e)},encode:function t(e,r){return wd(this,e,r,{callee:t})},decode:function t(e,r){return _d(this,e,r,{callee:t})},encodeAsync:async function t(e,r){return await xd(this,e,r,{callee:t})},decodeAsync:async function t(e,r){return await yd(this,e,r,{callee:t})},safeEncode(t,e){return bd(this,t,e)},safeDecode(t,e){return vd(this,t,e)},async safeEncodeAsync(t,e){return Sd(this,t,e)},async safeDecodeAsync(t,e){return kd(this,t,e)},toJSONSchema(t){return Of(this,{})(t)},get description(){return bt.get(this)?.description},get _def(){return this._zod.def}}),$d=w("_ZodString",(t,e)=>{Lo.init(t,e),Z.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Zf(t,r,o,n)},A.derived({format:t=>J(t).format??null,minLength:t=>J(t).minimum??null,maxLength:t=>J(t).maximum??null},{regex(...t){return this.check(Qs(...t))},includes(...t){return this.check(ri(...t))},startsWith(...t){return this.check(oi(...t))},endsWith(...t){return this.check(ni(...t))},min(...t){return this.check(Yt(...t))},max(...t){return this.check(jo(...t))},length(...t){return this.check(Fo(...t))},nonempty(...t){return this.check(Yt(1,...t))},lowercase(t){return this.check(ei(t))},uppercase(t){return this.check(ti(t))},trim(){return this.check(ii())},normalize(...t){return this.check(si(...t))},toLowerCase(){return this.check(ai())},toUpperCase(){return this.check(ui())},slugify(){return this.check(ci())}})),xi=w("ZodString",(t,e)=>{Lo.init(t,e),$d.init(t,e)},{email(t){return this.check(Zl(dx,t))},url(t){return this.check(Kl(mx,t))},jwt(t){return this.check(uf($x,t))},emoji(t){return this.check(Gl(hx,t))},guid(t){return this.check(Ul(px,t))},uuid(t){return this.check(ql(Go,t))},uuidv4(t){return this.check(jl(Go,t))},uuidv6(t){return this.check(Fl(Go,t))},uuidv7(t){return this.check(Hl(Go,t))},nanoid(t){return this.check(Wl(gx,t))},cuid(t){return this.check(Vl(wx,t))},cuid2(t){return this.check(Yl(_x,t))},ulid(t){return this.check(Jl(xx,t))},base64(t){return this.check(nf(Ax,t))},base64url(t){return this.check(sf(Tx,t))},xid(t){return this.check(Xl(yx,t))},ksuid(t){return this.check(Ql(bx,t))},ipv4(t){return this.check(ef(vx,t))},ipv6(t){return this.check(tf(Sx,t))},cidrv4(t){return this.check(rf(kx,t))},cidrv6(t){return this.check(of(Ex,t))},e164(t){return this.check(af(zx,t))},datetime(t){return this.check(cf(ux,t))},date(t){return this.check(lf(cx,t))},time(t){return this.check(ff(lx,t))},duration(t){return this.check(df(fx,t))}});function $(t){return Dl(xi,t)}var K=w("ZodStringFormat",(t,e)=>{U.init(t,e),$d.init(t,e)}),ux=w("ZodISODateTime",(t,e)=>{Kc.init(t,e),K.init(t,e)}),cx=w("ZodISODate",(t,e)=>{Gc.init(t,e),K.init(t,e)}),lx=w("ZodISOTime",(t,e)=>{Wc.init(t,e),K.init(t,e)}),fx=w("ZodISODuration",(t,e)=>{Vc.init(t,e),K.init(t,e)}),dx=w("ZodEmail",(t,e)=>{Nc.init(t,e),K.init(t,e)});var px=w("ZodGUID",(t,e)=>{Mc.init(t,e),K.init(t,e)});var Go=w("ZodUUID",(t,e)=>{Ic.init(t,e),K.init(t,e)});var mx=w("ZodURL",(t,e)=>{Dc.init(t,e),K.init(t,e)});var hx=w("ZodEmoji",(t,e)=>{Bc.init(t,e),K.init(t,e)});var gx=w("ZodNanoID",(t,e)=>{Zc.init(t,e),K.init(t,e)});var wx=w("ZodCUID",(t,e)=>{Uc.init(t,e),K.init(t,e)});var _x=w("ZodCUID2",(t,e)=>{qc.init(t,e),K.init(t,e)});var xx=w("ZodULID",(t,e)=>{jc.init(t,e),K.init(t,e)});var yx=w("ZodXID",(t,e)=>{Fc.init(t,e),K.init(t,e)});var bx=w("ZodKSUID",(t,e)=>{Hc.init(t,e),K.init(t,e)});var vx=w("ZodIPv4",(t,e)=>{Yc.init(t,e),K.init(t,e)});var Sx=w("ZodIPv6",(t,e)=>{Xc.init(t,e),K.init(t,e)});var kx=w("ZodCIDRv4",(t,e)=>{Qc.init(t,e),K.init(t,e)});var Ex=w("ZodCIDRv6",(t,e)=>{el.init(t,e),K.init(t,e)});var Ax=w("ZodBase64",(t,e)=>{rl.init(t,e),K.init(t,e)});var Tx=w("ZodBase64URL",(t,e)=>{ol.init(t,e),K.init(t,e)});var zx=w("ZodE164",(t,e)=>{nl.init(t,e),K.init(t,e)});var $x=w("ZodJWT",(t,e)=>{sl.init(t,e),K.init(t,e)});var Vo=w("ZodNumber",(t,e)=>{Gs.init(t,e),Z.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Uf(t,r,o,n),t.isFinite=!0},A.derived({minValue:t=>{let{minimum:e,exclusiveMinimum:r}=J(t);return Math.max(e??Number.NEGATIVE_INFINITY,r??Number.NEGATIVE_INFINITY)},maxValue:t=>{let{maximum:e,exclusiveMaximum:r}=J(t);return Math.min(e??Number.POSITIVE_INFINITY,r??Number.POSITIVE_INFINITY)},isInt:t=>{let{isInt:e,multipleOf:r}=J(t);return!!e||!!r?.some(Number.isSafeInteger)},format:t=>J(t).format??null},{gt(t,e){return this.check(Vt(t,e))},gte(t,e){return this.check(Ye(t,e))},min(t,e){return this.check(Ye(t,e))},lt(t,e){return this.check(Wt(t,e))},lte(t,e){return this.check(Ve(t,e))},max(t,e){return this.check(Ve(t,e))},int(t){return this.check(P(t))},safe(t){return this.check(P(t))},positive(t){return this.check(Vt(0,t))},nonnegative(t){return this.check(Ye(0,t))},negative(t){return this.check(Wt(0,t))},nonpositive(t){return this.check(Ve(0,t))},multipleOf(t,e){return this.check(Mr(t,e))},step(t,e){return this.check(Mr(t,e))},finite(){return this}}));function v(t){return pf(Vo,t)}var Ox=w("ZodNumberFormat",(t,e)=>{il.init(t,e),Vo.init(t,e)});function P(t){return hf(Ox,t)}var yi=w("ZodBoolean",(t,e)=>{al.init(t,e),Z.init(t,e),t._zod.processJSONSchema=(r,o,n)=>qf(t,r,o,n)});function vt(t){return gf(yi,t)}var Od=w("ZodBigInt",(t,e)=>{ul.init(t,e),Z.init(t,e),t._zod.processJSONSchema=(r,o,n)=>jf(t,r,o,n)},A.derived({minValue:t=>J(t).minimum??null,maxValue:t=>J(t).maximum??null,format:t=>J(t).format??null},{gte(t,e){return this.check(Ye(t,e))},min(t,e){return this.check(Ye(t,e))},gt(t,e){return this.check(Vt(t,e))},lt(t,e){return this.check(Wt(t,e))},lte(t,e){return this.check(Ve(t,e))},max(t,e){return this.check(Ve(t,e))},positive(t){return this.check(Vt(BigInt(0),t))},negative(t){return this.check(Wt(BigInt(0),t))},nonpositive(t){return this.check(Ve(BigInt(0),t))},nonnegative(t){return this.check(Ye(BigInt(0),t))},multipleOf(t,e){return this.check(Mr(t,e))}}));var Px=w("ZodUnknown",(t,e)=>{cl.init(t,e),Z.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Hf(t,r,o,n)});function Wo(){return xf(Px)}var Rx=w("ZodNever",(t,e)=>{ll.init(t,e),Z.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Ff(t,r,o,n)});function Pd(t){return yf(Rx,t)}var Rd=w("ZodDate",(t,e)=>{fl.init(t,e),Z.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Kf(t,r,o,n),t.min=(r,o)=>t.check(Ye(r,o)),t.max=(r,o)=>t.check(Ve(r,o))},A.derived({minDate:t=>{let{minimum:e}=J(t);return e?new Date(e):null},maxDate:t=>{let{maximum:e}=J(t);return e?new Date(e):null}},{}));var Mx=w("ZodArray",(t,e)=>{Dr(),dl.init(t,e),Z.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Jf(t,r,o,n),t.element=e.element},{min(t,e){return this.check(Yt(t,e))},nonempty(t){return this.check(Yt(1,t))},max(t,e){return this.check(jo(t,e))},length(t,e){return this.check(Fo(t,e))},unwrap(){return this.element}});function G(t,e){return vf(Mx,t,e)}var Br=w("ZodObject",(t,e)=>{Dr(),hl.init(t,e),Z.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Xf(t,r,o,n),A.installLazyProp(t,"shape",r=>r._zod.def.shape,!1)},{keyof(){return lt(Object.keys(this._zod.def.shape))},catchall(t){return this.clone(A.mergeDefs(this._zod.def,{catchall:t}))},passthrough(){return this.clone(A.mergeDefs(this._zod.def,{catchall:Wo()}))},loose(){return this.clone(A.mergeDefs(this._zod.def,{catchall:Wo()}))},strict(){return this.clone(A.mergeDefs(this._zod.def,{catchall:Pd()}))},strip(){return this.clone(A.mergeDefs(this._zod.def,{catchall:void 0}))},extend(t){return A.extend(this,t)},safeExtend(t){return A.safeExtend(this,t)},merge(t){return A.merge(this,t)},pick(t){return A.pick(this,t)},omit(t){return A.omit(this,t)},partial(...t){return A.partial(Ur,this,t[0])},exactPartial(...t){return A.partial(Id,this,t[0],"exactPartial")},required(...t){return A.required(Nd,this,t[0])}});function D(t,e){let r={type:"object",shape:t??{},...A.normalizeParams(e)};return new Br(r)}function St(t,e){return new Br({type:"object",shape:t,catchall:Pd(),...A.normalizeParams(e)})}var bi=w("ZodUnion",(t,e)=>{gl.init(t,e),Z.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Qf(t,r,o,n),t.options=e.options});function vi(t,e){return new bi({type:"union",options:t,...A.normalizeParams(e)})}var Ix=w("ZodIntersection",(t,e)=>{wl.init(t,e),Z.init(t,e),t._zod.processJSONSchema=(r,o,n)=>ed(t,r,o,n)});function Nx(t,e){return new Ix({type:"intersection",left:t,right:e})}var Lx=w("ZodTuple",(t,e)=>{Dr(),_l.init(t,e),Z.init(t,e),t._zod.processJSONSchema=(r,o,n)=>td(t,r,o,n)},{rest(t){return this.clone({...this._zod.def,rest:t})},partial(){let t=this._zod.def;if(t.checks?.length)throw new Error(".partial() cannot be used on tuple schemas containing refinements");return this.clone({...t,items:t.items.map(e=>new Ur({type:"optional",innerType:e}))})}});function Zr(t,e,r){let o=e instanceof B,n=o?r:e,s=o?e:null;return new Lx({type:"tuple",items:t,rest:s,...A.normalizeParams(n)})}var Ed=w("ZodRecord",(t,e)=>{Dr(),xl.init(t,e),Z.init(t,e),t._zod.processJSONSchema=(r,o,n)=>rd(t,r,o,n),t.keyType=e.keyType,t.valueType=e.valueType});function kt(t,e,r){return!e||!e._zod?new Ed({type:"record",keyType:$(),valueType:t,...A.normalizeParams(e)}):new Ed({type:"record",keyType:t,valueType:e,...A.normalizeParams(r)})}var _i=w("ZodEnum",(t,e)=>{yl.init(t,e),Z.init(t,e),t._zod.processJSONSchema=(o,n,s)=>Gf(t,o,n,s),t.enum=e.entries,t.options=[...t._zod.values];let r=new Set(Object.keys(e.entries));t.extract=(o,n)=>{let s={};for(let i of o)if(r.has(i))s[i]=e.entries[i];else throw new Error(`Key ${i} not found in enum`);return new _i({...e,checks:[],...A.normalizeParams(n),entries:s})},t.exclude=(o,n)=>{let s={...e.entries};for(let i of o)if(r.has(i))delete s[i];else throw new Error(`Key ${i} not found in enum`);return new _i({...e,checks:[],...A.normalizeParams(n),entries:s})}});function lt(t,e){let r=Array.isArray(t)?Object.fromEntries(t.map(o=>[o,o])):t;return new _i({type:"enum",entries:r,...A.normalizeParams(e)})}var Si=w("ZodLiteral",(t,e)=>{bl.init(t,e),Z.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Wf(t,r,o,n),t.values=new Set(e.values),Object.defineProperty(t,"value",{get(){if(e.values.length>1)throw new Error("This schema contains multiple valid literal values. Use `.values` instead.");return e.values[0]}})});function Md(t,e){return new Si({type:"literal",values:Array.isArray(t)?t:[t],...A.normalizeParams(e)})}var Cx=w("ZodTransform",(t,e)=>{Dr(),vl.init(t,e),Z.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Yf(t,r,o,n),t._zod.parse=(r,o)=>{if(o.direction==="backward")throw new Gt(t.constructor.name);r.addIssue=s=>{if(typeof s=="string")r.issues.push(A.issue(s,r.value,e));else{let i=s;i.fatal&&(i.continue=!1),i.code??(i.code="custom"),"input"in i||(i.input=r.value),i.inst??(i.inst=t),r.issues.push(A.issue(i))}};let n=e.transform(r.value,r);return n instanceof Promise?n.then(s=>(r.value=s,r)):(r.value=n,r)}});function Dx(t){return new Cx({type:"transform",transform:t})}var Ur=w("ZodOptional",(t,e)=>{Ws.init(t,e),Z.init(t,e),t._zod.processJSONSchema=(r,o,n)=>wi(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function Ad(t){return new Ur({type:"optional",innerType:t})}var Id=w("ZodExactOptional",(t,e)=>{Sl.init(t,e),Z.init(t,e),t._zod.processJSONSchema=(r,o,n)=>wi(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function Bx(t){return new Id({type:"optional",innerType:t})}var ki=w("ZodNullable",(t,e)=>{kl.init(t,e),Z.init(t,e),t._zod.processJSONSchema=(r,o,n)=>od(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function Td(t){return new ki({type:"nullable",innerType:t})}var Ei=w("ZodDefault",(t,e)=>{El.init(t,e),Z.init(t,e),t._zod.processJSONSchema=(r,o,n)=>id(t,r,o,n),t.unwrap=()=>t._zod.def.innerType,t.removeDefault=t.unwrap});function Zx(t,e){return new Ei({type:"default",innerType:t,get defaultValue(){return typeof e=="function"?e():A.shallowClone(e)}})}var Ai=w("ZodPrefault",(t,e)=>{Al.init(t,e),Z.init(t,e),t._zod.processJSONSchema=(r,o,n)=>ad(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function Ux(t,e){return new Ai({type:"prefault",innerType:t,get defaultValue(){return typeof e=="function"?e():A.shallowClone(e)}})}var Nd=w("ZodNonOptional",(t,e)=>{Tl.init(t,e),Z.init(t,e),t._zod.processJSONSchema=(r,o,n)=>nd(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function qx(t,e){return new Nd({type:"nonoptional",innerType:t,...A.normalizeParams(e)})}var jx=w("ZodCatch",(t,e)=>{zl.init(t,e),Z.init(t,e),t._zod.processJSONSchema=(r,o,n)=>ud(t,r,o,n),t.unwrap=()=>t._zod.def.innerType,t.removeCatch=t.unwrap});function Fx(t,e){return new jx({type:"catch",innerType:t,catchValue:typeof e=="function"?e:A.constantCatch(e)})}var Hx=w("ZodPipe",(t,e)=>{$l.init(t,e),Z.init(t,e),t._zod.processJSONSchema=(r,o,n)=>cd(t,r,o,n),t.in=e.in,t.out=e.out});function zd(t,e){return new Hx({type:"pipe",in:t,out:e})}var Kx=w("ZodReadonly",(t,e)=>{Ol.init(t,e),Z.init(t,e),t._zod.processJSONSchema=(r,o,n)=>ld(t,r,o,n),t.unwrap=()=>t._zod.def.innerType});function Gx(t){return new Kx({type:"readonly",innerType:t})}var Wx=w("ZodCustom",(t,e)=>{Pl.init(t,e),Z.init(t,e),t._zod.processJSONSchema=(r,o,n)=>Vf(t,r,o,n)});function Vx(t,e={}){return Sf(Wx,t,e)}function Yx(t,e){return kf(t,e)}var qr={};xs(qr,{bigint:()=>ty,boolean:()=>ey,date:()=>ry,number:()=>Qx,string:()=>Xx});function Xx(t){return Bl(xi,t)}function Qx(t){return mf(Vo,t)}function ey(t){return wf(yi,t)}function ty(t){return _f(Od,t)}function ry(t){return bf(Rd,t)}var y=class extends Error{name="UserError";exitCode=1},Yo=class extends y{name="UsageError";exitCode=2},V=class extends y{name="FormatError";path;offsetBytes;constructor(e,r){let o=r.place??(r.offsetBytes===void 0?void 0:`byte ${r.offsetBytes}`);super(`Cannot read ${r.path}${o?` at ${o}`:""}: ${e}`,{cause:r.cause}),this.path=r.path,this.offsetBytes=r.offsetBytes}},je=class extends Yo{name="ConfigError";keyPath;constructor(e,r,o){super(`Cannot use config key ${e}: ${r}`,o),this.keyPath=e}},N=class extends Error{name="KernelError";kernel;line;file;constructor(e,r,o,n=e){let s=n===e?"":` of ${n}.wgsl`;super(`Cannot use kernel ${e}${o===void 0?"":` (line ${o}${s})`}: ${r}`),this.kernel=e,this.line=o,this.file=n}},jr=class extends y{signal;name;exitCode;constructor(e){super(`stopped by ${e}; run the same command again to go on`),this.signal=e,this.name="InterruptedError",this.exitCode=e==="SIGINT"?130:75}};function b(t,e){if(!t)throw new Error(`Internal error: ${e}`)}function L(t,e){let r=t.get(e);return b(r!==void 0,`there is no ${e}`),r}function Ti(t,e=80){return t.length<=e?t:`${t.slice(0,e-1)}\u2026`}function Ie(t){if(!(t>=0&&t<1/0))throw new RangeError(`Cannot encode an RTT of ${t} ms: a finite number of 0 or more was wanted`);let e=Math.max(1,t*1e3),r=0;for(;e>=2048&&r<31;)e/=2,r++;return r<<11|Math.min(Math.floor(e),2047)}function Jo(t){let{exponent:e,mantissa:r}=Ld(t);return e>0?(r+.5)*2**e/1e3:zi(r)}function Xo(t){let{exponent:e,mantissa:r}=Ld(t),o=e===31&&r===2047;return{lowMs:t===1?0:zi(r*2**e),highMs:o?1/0:zi((r+1)*2**e)}}function Qt(t){return t>>>0!==t||t>65535?!1:(t&2047)>=(t>>11>0?1024:1)}var te=Uint16Array.from(Array.from({length:65536},(t,e)=>e).filter(Qt));function zi(t){let e=t/1e3;return e*1e3<t?e*(1+Number.EPSILON):e}function Ld(t){if(!Qt(t))throw new RangeError(`Cannot decode RTT code ${t}: a canonical code was wanted`);return{exponent:t>>11,mantissa:t&2047}}var Cd=Date.UTC(1990,0,1)*1e3,Dd=Date.UTC(2100,0,1)*1e3;var qd=/^(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(?:Z|([+-]\d\d)(?::?(\d\d))?)?)?$/,Fr={seconds:1e6,milliseconds:1e3,microseconds:1,nanoseconds:.001},Bd="",Zd=!1;function Qo(t,e="seconds"){let r=/^\d+(?:\.\d+)?$/.test(t),o=r?Math.round(Number(t)*Fr[e]):oy(t);if(Ud(o))return{timeUs:o};if(Number.isNaN(o))return{fault:`${qd.test(t)?"there is no such date or time":"it is no time"}, a time as ISO 8601 or Unix ${e} was wanted`};let n=r&&Object.keys(Fr).find(i=>Ud(+t*Fr[i]));if(!n)return{fault:"a time from 1990 to 2099 was wanted"};let s=Math.floor(+t*Fr[n]/Fr[e]);return{fault:`these look like ${n}, Unix ${e} were wanted, such as ${s}`}}function Ud(t){return t>=Cd&&t<Dd}function oy(t){let e=qd.exec(t);if(!e)return NaN;let[,r,o="00:00",n="+00",s="00"]=e;if(r!==Bd){let u=Date.parse(`${r}T00:00Z`);Zd=!Number.isNaN(u)&&new Date(u).toISOString().startsWith(r),Bd=r}if(!Zd)return NaN;let[i,a=""]=o.split(".");return Date.parse(`${r}T${i}${n}:${s}`)*1e3+Number(a.slice(0,6).padEnd(6,"0"))}var Fd=46,jd=58,Hr=8;function en(t){return t.includes(":")?ny(t):Hd(t,0)}function ve(t){if(t.length===4)return t.join(".");if(t.length!==16)throw new RangeError(`Cannot write an address: found ${t.length} bytes, 4 or 16 were wanted`);if(ay(t))return`::ffff:${t.subarray(12).join(".")}`;let e=Array.from({length:Hr},(s,i)=>t[2*i]<<8|t[2*i+1]),[r,o]=uy(e),n=e.map(s=>s.toString(16));return o<2?n.join(":"):`${n.slice(0,r).join(":")}::${n.slice(r+o).join(":")}`}function Hd(t,e){let r=new Uint8Array(4),o=e;for(let n=0;n<4;n++){if(n>0&&t.charCodeAt(o++)!==Fd)return;let s=o,i=0;for(;o-s<3;o++){let u=t.charCodeAt(o)-48;if(!(u>=0&&u<=9))break;i=i*10+u}let a=o-s;if(a===0||i>255||a>1&&t.charCodeAt(s)===48)return;r[n]=i}return o===t.length?r:void 0}function ny(t){let e=new Uint8Array(16),r=0,o=0,n=-1;for(t.startsWith("::")&&([r,n]=[2,0]);r<t.length;){if(o===Hr)return;let s=sy(t,r);if(t.charCodeAt(s)===Fd){let a=Hd(t,r);if(!a||o>Hr-2)return;e.set(a,2*o),o+=2;break}if(s===r||s-r>4)return;let i=parseInt(t.slice(r,s),16);if(e[2*o]=i>>8,e[2*o+1]=i&255,o++,s===t.length)break;if(t.charCodeAt(s)!==jd||s+1===t.length)return;if(r=s+1,t.charCodeAt(r)===jd){if(n>=0)return;n=o,r++}}return iy(e,o,n)}function sy(t,e){let r=e;for(;r<t.length;r++){let o=t.charCodeAt(r),n=o>=48&&o<=57,s=o|32;if(!n&&!(s>=97&&s<=102))break}return r}function iy(t,e,r){if(r<0)return e===Hr?t:void 0;if(e===Hr)return;let o=2*(e-r);return t.copyWithin(16-o,2*r,2*e),t.fill(0,2*r,16-o),t}function ay(t){return t.subarray(0,10).every(e=>e===0)&&t[10]===255&&t[11]===255}function uy(t){let e=0,r=0,o=0;return t.forEach((n,s)=>{o=n===0?o+1:0,o>r&&([e,r]=[s-o+1,o])}),[e,r]}function $i(t){let{bytes:e,length:r}=Vd(t);return{bytes:e.map((o,n)=>o&Oi(r,n)),length:r}}function Kd(t){let{bytes:e,length:r}=Vd(t);return e.some((o,n)=>(o&~Oi(r,n))!==0)}function Gd(t){return{bytes:t,length:t.length*8}}function re({bytes:t,length:e}){return e===t.length*8}function Kr(t){let e=ve(t.bytes);return re(t)?e:`${e}/${t.length}`}function Wd({bytes:t,length:e},r){return{first:t[r],last:t[r]|~Oi(e,r)&255}}function Oi(t,e){return 255<<8-Math.min(8,Math.max(0,t-8*e))&255}function Vd(t){let e=cy(t);if("fault"in e)throw new y(`Cannot read ${JSON.stringify(t)}: ${e.fault}`);return e}function cy(t){let e=t.indexOf("/"),r=en(e<0?t:t.slice(0,e));if(!r)return{fault:"an IPv4 or IPv6 address or prefix was wanted"};let o=r.length*8;if(e<0)return{bytes:r,length:o};let n=t.slice(e+1),s=/^(0|[1-9]\d{0,2})$/.test(n)?Number(n):NaN;return s<=o?{bytes:r,length:s}:{fault:`found length ${n||"none"}, 0 to ${o} was wanted`}}var ly=["src","dst","time","context"],fy=["src","dst","time","rtt"],dy=80;function tn(t){let{src:e,dst:r,time:o,context:n}=Qd(t,ly),s=[],i=Yd("src",e,s),a=Yd("dst",r,s);return{source:i,destination:a,timeS:tp(o),context:hy(n,s),notes:s}}function Xd(t){let{source:e,destination:r,timeS:o,context:n}=Pi(t);for(let s of[e,r])if(!re(s))throw new y(`Cannot give one exact distribution for ${Kr(s)}: two addresses were wanted; use rttBetweenPrefixes`);return{source:e.bytes,destination:r.bytes,timeS:o,context:n}}function Pi(t){let{source:e,destination:r,timeS:o,context:n}=tn(t);return{source:e,destination:r,timeS:o,context:n??[]}}function py(t){if(Kd(t))return`${t} has bits after the prefix: taken as ${Kr($i(t))}`}function Qd(t,e){let r=Object.keys(t).find(o=>!e.includes(o));if(r===void 0)return t;throw new y(`found ${Ti(r)}, only ${e.join(", ")} were wanted`)}function Yd(t,e,r){let o=ep(t,e,"address or prefix");try{let n=$i(o),s=py(o);return s!==void 0&&r.push(s),n}catch(n){throw n instanceof y?new y(`${t}: ${n.message}`):n}}function Jd(t,e){let r=ep(t,e,"address"),o=en(r);if(o)return o;throw new y(`found ${t} ${Fe(r)}, an IPv4 or IPv6 address was wanted`)}function ep(t,e,r){if(typeof e=="string"&&e!==""&&e.length<=dy)return e;let o=e===void 0||e===""?`no ${t}`:`${t} ${Fe(e)}`;throw new y(`found ${o}, an IPv4 or IPv6 ${r} was wanted`)}function my(t){let e=Qo(t);return"fault"in e?e:{timeS:Math.floor(e.timeUs/1e6)}}function tp(t){if(t==null||t==="")return null;let e=my(typeof t=="string"||typeof t=="number"?String(t):"");if("timeS"in e)return e.timeS;throw new y(`found time ${Fe(t)}, ${e.fault}`)}function hy(t,e){if(t==null)return null;if(!Array.isArray(t))throw new y(`found context ${Fe(t)}, an array of measurements was wanted`);let r=t.map((o,n)=>{try{return Gr(o)}catch(s){throw s instanceof y?new y(`context[${n}]: ${s.message}`):s}});return wy(r,e)}function Gr(t){if(typeof t!="object"||t===null)throw new y("found no JSON object, one with src, dst, time and rtt was wanted");let{src:e,dst:r,time:o,rtt:n}=Qd(t,fy),s=Jd("src",e),i=Jd("dst",r);if(s.length!==i.length)throw new y("found addresses of different IP versions, two of one version were wanted");return{source:s,destination:i,rttCode:gy(n),timeS:tp(o)}}function gy(t){if(t===null)return null;if(typeof t=="number"&&t>=0&&t<1/0)return Ie(t);let e=t===void 0?"no rtt":`rtt ${Fe(t)}`;throw new y(`found ${e}, ms of 0 or more, or null for no reply, was wanted`)}function Fe(t){return typeof t=="object"&&t!==null?Array.isArray(t)?"an array":"an object":JSON.stringify(typeof t=="string"?Ti(t):t)}function wy(t,e){let r=t.map(({timeS:o})=>o).filter(o=>o!==null);if(r.length>0&&r.length<t.length)throw new y("found context with a time in some measurements only, in all or none was wanted");return r.every((o,n)=>n===0||o>=r[n-1])?t:(e.push("the context is not in order of time: it was sorted"),t.toSorted((o,n)=>(o.timeS??0)-(n.timeS??0)))}var _y={400:"Bad Request",404:"Not Found",405:"Method Not Allowed",408:"Request Timeout",413:"Content Too Large",415:"Unsupported Media Type",421:"Misdirected Request",429:"Too Many Requests",431:"Request Header Fields Too Large",500:"Internal Server Error",503:"Service Unavailable"},xy=["AbortError","TimeoutError"],rp="Cannot answer: the request was ended before its answer was there; ask again",Se=class extends Error{name="ApiError";problem;constructor(e,r,o){super(r,o),this.problem={type:"about:blank",title:_y[e],status:e,detail:r}}};function rn(t){return yy(t).problem}function yy(t){return t instanceof Se?t:t instanceof jr?new Se(503,rp):t instanceof y?new Se(400,op(t.message)):t instanceof Ko?new Se(400,op(Ri(t))):t instanceof DOMException&&xy.includes(t.name)?new Se(503,rp):new Se(500,"Cannot answer: an error of the server, not of the request; its log says more")}async function tr(t){try{return await t()}catch(e){throw!(e instanceof y)||e instanceof jr?e:new Error(`Internal error: ${e.message}`,{cause:e})}}function op(t){return t.startsWith("Cannot ")?t:`Cannot answer: ${t}`}function Ri({issues:[t]},e){let{path:r}=t,o=r.map((i,a)=>typeof i=="number"?`[${i}]`:`${a>0?".":""}${String(i)}`).join("");if(t.code==="unrecognized_keys"){let i=Fe(t.keys[0]);return`found ${o===""?i:`${i} in ${o}`}, ${t.message}`}let n=sp(t);if(!e)return o===""?n:`${o}: ${n}`;let s=r.reduce(by,e.value);return s===void 0?`found no ${o||"value"}, ${n}`:`found ${o===""?"":`${o} `}${Fe(s)}, ${n}`}function by(t,e){return typeof t=="object"&&t!==null?Reflect.get(t,e):void 0}var vy={string:"text was wanted",number:"a number was wanted",int:"a whole number was wanted",array:"an array was wanted",tuple:"an array was wanted",object:"a JSON object was wanted"};function sp(t){return t.message.endsWith(" wanted")?t.message:t.code==="invalid_type"?vy[t.expected]??`${t.expected} was wanted`:t.code==="invalid_union"?`${t.errors.map(([r])=>sp(r).replace(/ was wanted$/,"")).join(" or ")} was wanted`:t.code==="too_small"?`at least ${np(t.origin,t.minimum)} wanted`:t.code==="too_big"?`at most ${np(t.origin,t.maximum)} wanted`:t.message}function np(t,e){return t==="array"?e===1?"1 value was":`${e} values were`:`${e} was`}function Sy(t,e){let r=[],o=Array.from({length:e.length+1},(n,s)=>s);for(let n=1;n<=t.length;n++){let s=[n];for(let i=1;i<=e.length;i++){let a=o[i-1]+(t[n-1]===e[i-1]?0:1);s[i]=Math.min(o[i]+1,s[i-1]+1,a),n>1&&i>1&&t[n-1]===e[i-2]&&t[n-2]===e[i-1]&&(s[i]=Math.min(s[i],r[i-2]+1))}[r,o]=[o,s]}return o[e.length]}function ip(t,e){let o=e.map(n=>({name:n,distance:Sy(t,n)})).sort((n,s)=>n.distance-s.distance)[0];return o&&o.distance<=Math.max(2,Math.floor(t.length/3))?`; did you mean ${o.name}?`:`; known are ${e.join(", ")}`}function cp(t,e,r=""){let o=t.safeParse(e);if(o.success)return o.data;let n=o.error.issues[0],s=n.path.map(String);if(n.code==="unrecognized_keys"){let u=n.keys[0],c=ip(u,Mi(t,s,e));throw new je(ap(r,[...s,u]),`the key is unknown${c}`)}let i=Ii(e,n.path),a=i===void 0?"nothing":JSON.stringify(i);throw new je(ap(r,s),`found ${a}, ${ky(n)}`)}function ky(t){switch(t.code){case"custom":return t.message;case"invalid_type":return`${Ey(t.expected==="int"?"integer":t.expected)} was wanted`;case"too_small":return`${t.inclusive?"at least":"more than"} ${t.minimum} was wanted`;case"too_big":return`${t.inclusive?"at most":"less than"} ${t.maximum} was wanted`;case"invalid_value":return`${t.values.map(String).join(" or ")} was wanted`;default:return t.message}}function Ey(t){return`${/^[aeiou]/.test(t)?"an":"a"} ${t}`}function ap(t,e){return[...t?[t]:[],...e].join(".")||"(all)"}function Ii(t,e){let r=t;for(let o of e){if(typeof r!="object"||r===null)return;r=r[o]}return r}function Mi(t,e,r){let o=up(t);if(o instanceof bi){let a=o.options.map(c=>up(c)),u=a.filter(c=>Ay(c,r));return(u.length>0?u:a).flatMap(c=>Mi(c,e,r))}if(!(o instanceof Br))return[];let n=o.shape;if(e.length===0)return Object.keys(n);let[s,...i]=e;return n[s]?Mi(n[s],i,Ii(r,[s])):[]}function Ay(t,e){return t instanceof Br?Object.entries(t.shape).every(([r,o])=>!(o instanceof Si)||o.safeParse(Ii(e,[r])).success):!1}function up(t){let e=t;for(;e instanceof Ei||e instanceof Ai||e instanceof Ur||e instanceof ki;)e=e.unwrap();return e}var lp=["float64","fixed","log","clipped"];var Ni=Number.MAX_SAFE_INTEGER,Ci=.001,Ty=1e6,fp=65535,Li=65535,Di=Math.log(Ty/Ci)/fp,aA=Math.expm1(Di/2),zy={name:"float64",maxRttMs:Number.MAX_VALUE,encode(t,e){t!==null&&nn(t,Number.MAX_VALUE),e.setFloat64(0,t===null?-1:t+0)},decode(t){let e=t.getFloat64(0);return e===-1?null:e>=0&&e<1/0&&!Object.is(e,-0)?e:void 0}},dp={name:"fixed",maxRttMs:Ni/1e3,encode(t,e){t!==null&&nn(t,dp.maxRttMs),pp(t===null?null:Math.min(Math.round(t*1e3),Ni),e)},decode(t){return mp(t,Ni)}},$y={name:"log",maxRttMs:Number.MAX_VALUE,encode(t,e){e.setUint32(0,0),e.setUint32(4,t===null?Li:Py(t))},decode(t){let e=t.getUint32(4);if(!(t.getUint32(0)!==0||e>Li))return e===Li?null:Ci*Math.exp((e+.5)*Di)}};function Oy(t){if(!Number.isSafeInteger(t)||t<1)throw new RangeError(`Cannot clip RTTs at ${t} \xB5s: an integer in 1..2^53-1 was wanted`);return{name:"clipped",clipUs:t,maxRttMs:Number.MAX_VALUE,encode(e,r){e!==null&&nn(e,Number.MAX_VALUE),pp(e===null?null:Math.min(Math.round(e*1e3),t),r)},decode(e){return mp(e,t)}}}function on({name:t,clipMs:e}){return t==="clipped"?Oy(Math.max(1,Math.round(e*1e3))):{float64:zy,fixed:dp,log:$y}[t]}function nn(t,e){if(!(t>=0&&t<=e))throw new RangeError(`Cannot encode an RTT of ${t} ms: a number in 0..${e} was wanted`)}function Py(t){nn(t,Number.MAX_VALUE);let e=Math.floor(Math.log(t/Ci)/Di);return Math.max(0,Math.min(e,fp-1))}function pp(t,e){e.setUint32(0,t===null?4294967295:Math.floor(t/4294967296)),e.setUint32(4,t===null?4294967295:t%4294967296)}function mp(t,e){let r=t.getUint32(0),o=t.getUint32(4);if(r===4294967295&&o===4294967295)return null;let n=r*4294967296+o;return n<=e?n/1e3:void 0}var Ry=new Uint16Array(9);function sn(t,e,r){if(e===0)return;let o=Ry,n=t[0],s=0;for(;s<Math.min(e,9);){let l=t[s],f=s++;for(;f>0&&o[f-1]>l;f--)o[f]=o[f-1];o[f]=l,s<=5&&(n=o[s-1>>1])}let i=o[Math.floor((3*s-1)/4)]-o[Math.floor(s/4)],a=Math.min(11,Math.ceil(Math.log2(1+Math.max(0,i)))),u=r===null?0:Math.min(25,1+Math.floor(Math.log2(1+Math.max(0,r)))),c=Math.floor(Math.log2(s));return{typicalCode:n,newestCode:t[0],spread:c*12+a,age:u}}var an=2;function hp({typicalCode:t,newestCode:e,spread:r,age:o},n,s){n[s]=t<<16|e,n[s+1]=r<<16|o}function gp(t,e){let[r,o]=[t[e],t[e+1]];if(r!==0)return{typicalCode:r>>>16,newestCode:r&65535,spread:o>>>16,age:o&65535}}var Yr={};xs(Yr,{BYTE_BASE:()=>T,DST_IPV4:()=>oe,DST_IPV6:()=>we,FAILED:()=>de,FIELD_ORDERS:()=>Wr,MEASUREMENT_START:()=>ie,QUERY_ORDER:()=>Le,ROLE_NAMES:()=>un,RTT_START:()=>C,SRC_IPV4:()=>ge,SRC_IPV6:()=>Je,THROUGHPUT_START:()=>My,TIMESTAMP_ABS:()=>ne,TIMESTAMP_DELTA1:()=>Ne,TIMESTAMP_DELTA4:()=>_e,VOCAB_SIZE:()=>ft,measurementLength:()=>dt,timeLength:()=>Vr,tokenName:()=>Bi,untimedLength:()=>wp});var ie=0,ge=1,Je=2,oe=3,we=4,ne=5,Ne=6,_e=7,C=8,My=9,de=10,T=11,ft=267,un=["MeasurementStart","SrcIpv4","SrcIpv6","DstIpv4","DstIpv6","TimestampAbs","TimestampDelta1","TimestampDelta4","RttStart","ThroughputStart","Failed"],Wr=_p(["source","destination","result","time"]),Le=["source","destination","time","result"];function Bi(t){return t>=11&&t<267?`byte ${t-11}`:un[t]??`unknown token ${t}`}function dt(t,e){return wp(t.source.length,t.destination.length,t.rttCode===null)+Vr(t.timeS,e)}function wp(t,e,r){return 3+t+e+(r?1:3)}function Vr(t,e){return t===null?0:e===null?9:t-e<=255?2:5}function _p(t){return t.length<=1?[[...t]]:t.flatMap(e=>_p(t.filter(r=>r!==e)).map(r=>[e,...r]))}var Ce=class{at;previousTimeS=null;#e;constructor(e,r=0){this.#e=e,this.at=r}write(e,r){let o=this.at,n=dt(e,this.previousTimeS);if(o+n>this.#e.length)throw new RangeError(`Cannot write a measurement of ${n} tokens: found room for ${this.#e.length-o}`);this.#e[this.at++]=0;for(let s of r)s==="source"?this.#t(1,e.source):s==="destination"?this.#t(3,e.destination):s==="result"?this.#r(e.rttCode):e.timeS!==null&&this.#o(e.timeS);return this.at-o!==n&&b(!1,`the order ${r} gave ${this.at-o} of ${n} tokens`),n}#t(e,r){if(r.length!==4&&r.length!==16)throw new RangeError(`Cannot write an address: found ${r.length} bytes, 4 or 16 were wanted`);this.#e[this.at++]=r.length===4?e:e+1;for(let o=0;o<r.length;o++)this.#e[this.at++]=11+r[o]}#r(e){if(e===null){this.#e[this.at++]=10;return}if(!Qt(e))throw new RangeError(`Cannot write RTT code ${e}: a canonical code was wanted`);this.#e[this.at++]=8,this.#n(e,2)}#o(e){if(!Number.isSafeInteger(e)||e<0)throw new RangeError(`Cannot write the time ${e}: whole seconds in 0..2^53-1 were wanted`);if(this.previousTimeS===null){this.#e[this.at++]=5,this.#n(e,8),this.previousTimeS=e;return}let r=Math.max(0,e-this.previousTimeS);if(r>4294967295)throw new RangeError(`Cannot write a gap of ${r} s: at most 2^32-1 s were wanted`);this.#e[this.at++]=r<=255?6:7,this.#n(r,r<=255?1:4),this.previousTimeS+=r}#n(e,r){let o=e;for(let n=this.at+r-1;n>=this.at;n--){let s=Math.floor(o/256);this.#e[n]=11+o-s*256,o=s}this.at+=r}};var De=class extends y{position;name;constructor(e,r){super(`Cannot decode tokens at position ${e}: ${r}`),this.position=e,this.name="TokenError"}},Jr=class{tokens;grammar;at;constructor(e,r){this.tokens=e,this.grammar=r,this.at=0}readStart(){let{MEASUREMENT_START:e,tokenName:r}=this.grammar;if(this.tokens[this.at]!==e)throw this.unexpected(r(e));this.at++}readByte(){let e=this.tokens[this.at],{BYTE_BASE:r,VOCAB_SIZE:o}=this.grammar;if(!(e>=r&&e<o))throw this.unexpected("a byte");return this.at++,e-r}readBytes(e){let r=new Uint8Array(e);for(let o=0;o<e;o++)r[o]=this.readByte();return r}unexpected(e){let o=this.at>=this.tokens.length?"the end of the tokens":this.grammar.tokenName(this.tokens[this.at]);return new De(this.at,`found ${o}, ${e} was wanted`)}};function Ui(t){let e=new Zi(t),r=[];for(;e.at<t.length;)r.push(e.readMeasurement());return r}var Zi=class extends Jr{#e=null;constructor(e){super(e,Yr)}readMeasurement(){let e=this.at;this.readStart();let r=[],o,n,s,i=null;for(;this.at<this.tokens.length&&this.tokens[this.at]!==0;){let a=Iy(this.tokens[this.at]);if(a===void 0)throw this.unexpected("a block");if(r.includes(a))throw this.unexpected(`no second ${a}`);r.push(a),a==="source"?o=this.#t():a==="destination"?n=this.#t():a==="result"?s={rttCode:this.#r()}:i=this.#o()}if(!o)throw this.unexpected("a source");if(!n)throw this.unexpected("a destination");if(!s)throw this.unexpected("a result");return{source:o,destination:n,rttCode:s.rttCode,timeS:i,order:r,position:e}}#t(){let e=this.tokens[this.at++];return this.readBytes(e===1||e===3?4:16)}#r(){if(this.tokens[this.at++]===10)return null;let e=this.at,r=this.#n(2);if(!Qt(r))throw new De(e,`found RTT code ${r}, a canonical code was wanted`);return r}#o(){let e=this.at,r=this.tokens[this.at++];if(r===5!=(this.#e===null)){let i=r===5?"a gap after the first time":"an absolute first time";throw new De(e,`found ${Bi(r)}, ${i} was wanted`)}let o=r===5?8:r===6?1:4,n=this.#n(o);if(r===7&&n<=255)throw new De(e,`found a gap of ${n} s in 4 bytes, 1 byte was wanted`);let s=(this.#e??0)+n;if(!Number.isSafeInteger(s))throw new De(e,`found a time of ${s} s, at most 2^53-1 s were wanted`);return this.#e=s,s}#n(e){let r=0;for(let o=0;o<e;o++)r=r*256+this.readByte();return r}};function Iy(t){if(t===1||t===2)return"source";if(t===3||t===4)return"destination";if(t===8||t===10)return"result";if(t>=5&&t<=7)return"time"}var pt=11,qi=2**20;function xp(t,e){let r=t.slice(-9).reverse();return sn(r.map(({rttCode:o})=>o),r.length,yp(e,r[0]?.timeS??null))}function yp(t,e){return t===null||e===null?null:Math.abs(t-e)}var cn=class{#e;#t;constructor(e){this.#e=new Uint16Array(e*9),this.#t=new Float64Array(e)}add(e,{rttCode:r,timeS:o}){let n=e*9;this.#e.copyWithin(n+1,n,n+9-1),this.#e[n]=r,this.#t[e]=o??0}recall(e,{timeS:r=null,newer:o=[]}={}){let n=this.#e.subarray(e*9,(e+1)*9),s=this.#t[e],i=o.filter(c=>c.timeS===null||c.timeS>s),a=[...i.map(({rttCode:c})=>c).reverse(),...n.filter(c=>c>0)],u=i.at(-1)?.timeS??(s>0?s:null);return sn(a,a.length,yp(r,u))}save(){let e=this.#t.length,r=new Float32Array(e*pt);for(let o=0;o<e;o++){let n=this.#e.slice(o*9,(o+1)*9).reverse(),s=this.#t[o];r.set([...n,Math.floor(s/qi),s%qi],o*pt)}return r}load(e){let r=this.#t.length;b(e.length===r*pt,`${e.length} numbers of pairs`);for(let o=0;o<r;o++){let n=o*pt,s=e.slice(n,n+9).reverse();this.#e.set(s,o*9),this.#t[o]=e[n+9]*qi+e[n+9+1]}}},Ny={[5]:8,[6]:1,[7]:4,[8]:2},ln=class t{timeS=null;#e=0;#t=0;#r=0;#o=0;#n=0;#s=new Map;#i=!1;clone(){let e=new t;return e.timeS=this.timeS,e.#e=this.#e,e.#t=this.#t,e.#r=this.#r,e.#o=this.#o,e.#n=this.#n,e.#s=this.#s,e.#i=this.#i=!0,e}read(e){e<11?(this.#r=e,this.#o=0,this.#n=Ny[e]??0):this.#n>0&&(this.#o=this.#o*256+e-11,--this.#n===0&&this.#a(this.#o))}end(e){if(e!==void 0&&this.#t>0){this.#i&&(this.#s=new Map(this.#s)),this.#i=!1;let r={rttCode:this.#t,timeS:this.timeS};this.#s.set(e,[...this.rttsOf(e),r].slice(-9))}this.timeS=null,this.#t=0}rttsOf(e){return this.#s.get(e)??[]}#a(e){this.#r===8?this.#t=e:this.timeS=this.#e=e+(this.#r===5?0:this.#e)}};function ke(t){let e=t|0;return e=Math.imul(e^e>>>16,2246822507),e=Math.imul(e^e>>>13,3266489909),(e^e>>>16)>>>0}function fn(t){return Math.log(Math.max(t,.001))}var Ly=.001;function ji(t,e){return t===0?e:(Math.exp(t*e)-1)/t}function bp(t,e){return t===0?e:Math.log(Math.max(1+t*e,Ly**t))/t}function Fi(t,e,r){let[o,n]=t<e?[t,e]:[e,t];return ke(ke(o+1)^Math.imul(n+1,2654435769))%r}var dn=class{pairs;numFolds;start;others;logs;folds;weights;constructor(e,r){this.pairs=e,this.numFolds=r;let{numNodes:o,a:n,b:s,rttMs:i,weights:a}=e;b(s.length===n.length&&i.length===n.length,`${n.length}, ${s.length}, ${i.length} pairs`),this.start=new Float64Array(o+1);for(let f=0;f<n.length;f++)b(n[f]<o&&s[f]<o,`a pair of nodes ${n[f]} and ${s[f]} of ${o}`),n[f]!==s[f]&&(this.start[n[f]+1]++,this.start[s[f]+1]++);for(let f=0;f<o;f++)this.start[f+1]+=this.start[f];let u=this.start[o];this.others=new Uint32Array(u),this.logs=new Float32Array(u),this.folds=new Uint8Array(u),this.weights=new Float32Array(u);let c=this.start.slice(),l=(f,d,p)=>{let m=c[f]++;this.others[m]=d,this.logs[m]=fn(i[p]),this.folds[m]=Fi(f,d,r),this.weights[m]=a?.[p]??1};for(let f=0;f<n.length;f++)n[f]!==s[f]&&(l(n[f],s[f],f),l(s[f],n[f],f))}get numNodes(){return this.pairs.numNodes}},ue=-1;function vp(t,e){let{start:r,others:o,folds:n,numNodes:s}=t,i=new Float32Array(s).fill(ue),a=new Uint32Array(s);for(let u=0;u<s;u++){let c=0;for(i[u]===ue&&(a[c++]=u);c>0;){let l=a[--c];for(let f=r[l];f<r[l+1];f++)e>>n[f]&1||(i[l]=u,i[o[f]]===ue&&(i[o[f]]=u,a[c++]=o[f]))}}return i}function kp(t,e,{estimate:r,usualError:o}){let n=Xr(e,64),s=n.map(f=>Float64Array.from(t,d=>r(d.place,f.place))),i=n.map(({log:f},d)=>s[d].map(p=>-4/2*Math.log1p(((p-f)/o)**2/3))),a=new Float64Array(t.length);for(let f of i)f.forEach((d,p)=>a[p]+=d);let u=n.map(({log:f},d)=>{let p=Sp(a.map((m,h)=>m-i[d][h]));return Math.abs(p.reduce((m,h,g)=>m+h*s[d][g],0)-f)}).sort((f,d)=>f-d),c=u.length,l=o*(1+2/c);return{nodes:[...Sp(a)].flatMap((f,d)=>f>0?[{node:t[d].node,weight:f}]:[]),error:(c*u[c>>1]+8*l)/(c+8)}}function Sp(t){let e=t.reduce((n,s)=>Math.max(n,s),-1/0),r=t.map(n=>Math.exp(n-e)).map(n=>n<1e-6?0:n),o=r.reduce((n,s)=>n+s,0);return r.map(n=>n/o)}function Xr(t,e){return t.length<=e?t:Array.from({length:e},(r,o)=>t[Math.floor(o*t.length/e)])}var Ep=3528531795,Ap=3449720151,Cy=2654435769,Dy=3144134277,By=10,pn=2**32;var Be=class{#e;#t;#r;#o;#n;#s=new Uint32Array(4);#i=0;#a=4;constructor(e,r,...o){if(!Number.isSafeInteger(e)||e<0)throw new RangeError(`Cannot seed a random stream: found ${e}, an integer in 0..2^53-1 was wanted`);if(o.length>3||o.some(i=>i>>>0!==i))throw new RangeError(`Cannot index a random stream: found [${o}], up to three u32 were wanted`);let[n,s]=Zy(r);Tp(this.#s,n,s,0,0,e>>>0,Math.floor(e/pn)),this.#e=this.#s[0],this.#t=this.#s[1],this.#r=o[0]??0,this.#o=o[1]??0,this.#n=o[2]??0}restart(e,r=0,o=0){this.#r=e,this.#o=r,this.#n=o,this.#i=0,this.#a=4}uint32(){return this.#a===4&&this.#u(),this.#s[this.#a++]}float64(){let e=this.uint32()>>>5,r=this.uint32()>>>6;return(e*2**26+r)*2**-53}below(e){if(e===pn)return this.uint32();if(e===0||e>>>0!==e)throw new RangeError(`Cannot draw an integer below ${e}: 1..2^32 was wanted`);let r=this.uint32();if(Math.imul(r,e)>>>0<e){let o=(pn-e)%e;for(;Math.imul(r,e)>>>0<o;)r=this.uint32()}return Hi(r,e)>>>0}normal(){return Math.sqrt(2*this.exponential())*Math.cos(2*Math.PI*this.float64())}exponential(){return-Math.log(1-this.float64())}shuffle(e){for(let r=e.length-1;r>0;r--){let o=this.below(r+1),n=e[r];e[r]=e[o],e[o]=n}}#u(){b(this.#i<pn,"a random stream gave all of its 2^34 numbers"),Tp(this.#s,this.#i++,this.#r,this.#o,this.#n,this.#e,this.#t),this.#a=0}};function Tp(t,e,r,o,n,s,i){let a=e|0,u=r|0,c=o|0,l=n|0,f=s|0,d=i|0;for(let p=0;p<By;p++){let m=Hi(a,Ep),h=Math.imul(a,Ep),g=Hi(c,Ap),_=Math.imul(c,Ap);a=g^u^f,u=_,c=m^l^d,l=h,f=f+Cy|0,d=d+Dy|0}t[0]=a,t[1]=u,t[2]=c,t[3]=l}function Hi(t,e){let[r,o,n,s]=[t&65535,t>>>16,e&65535,e>>>16],i=Math.imul(o,n)+(Math.imul(r,n)>>>16)|0,a=Math.imul(r,s)+(i&65535)|0;return Math.imul(o,s)+(i>>>16)+(a>>>16)|0}var zp=new Map;function Zy(t){let e=zp.get(t);if(e)return e;let r=0xcbf29ce484222325n;for(let n of new TextEncoder().encode(t))r=BigInt.asUintN(64,(r^BigInt(n))*0x100000001b3n);let o=[Number(r&0xffffffffn),Number(r>>32n)];return zp.set(t,o),o}var mn=class{numFeatures;#e;#t;#r;constructor(e){this.numFeatures=e,this.#e=new Float64Array(e**2),this.#t=new Float64Array(e),this.#r=new Float64Array(e**2)}clear(){this.#e.fill(0),this.#t.fill(0)}add(e,r){let o=this.numFeatures;for(let n=0;n<o;n++){this.#t[n]+=r*e[n];for(let s=0;s<=n;s++)this.#e[n*o+s]+=e[n]*e[s]}}addFour(e,r,o){let n=this.numFeatures,s=this.#e,i=this.#t;for(let a=0;a<n;a++){let u=o[0]*e[a],c=o[1]*e[n+a],l=o[2]*e[2*n+a],f=o[3]*e[3*n+a];i[a]+=u*r[0]+c*r[1]+l*r[2]+f*r[3];for(let d=0,p=a*n;d<=a;d++,p++)s[p]+=u*e[d]+c*e[n+d]+l*e[2*n+d]+f*e[3*n+d]}}solve(e,r){let o=this.numFeatures,n=this.#r,s=new Float64Array(o);for(let i=0;i<o;i++){let a=typeof e=="number"?e:e[i],u=this.#t[i]+a*(r?.[i]??0);for(let c=0;c<=i;c++){let l=this.#e[i*o+c]+(i===c?a:0);for(let f=0;f<c;f++)l-=n[i*o+f]*n[c*o+f];n[i*o+c]=i===c?Math.sqrt(l):l/n[c*o+c]}for(let c=0;c<i;c++)u-=n[i*o+c]*s[c];s[i]=u/n[i*o+i]}for(let i=o-1;i>=0;i--){for(let a=i+1;a<o;a++)s[i]-=n[a*o+i]*s[a];s[i]/=n[i*o+i]}return s}};var Uy=.1,qy=.25,jy=3;function $p(t,e){return t>Math.floor(e*qy)?-1:1}var Qr=class{#e;#t;#r;#o;#n;#s=new Float64Array(4);#i=new Float64Array(4);#a=0;constructor(e){this.#e=e;let r=e.rank+1;this.#t=new mn(r),this.#r=new Float64Array(r).fill(e.regularisation),this.#r[0]*=jy,this.#o=Float64Array.from({length:r},(o,n)=>$p(n,e.rank)),this.#n=new Float64Array(4*r)}add({value:e,weight:r},o,n,s,i=0){let a=this.#o,u=a.length,c=this.#a*u,l=this.#n,f=e-o[n];l[c]=1;for(let p=1;p<u;p++)l[c+p]=a[p]*o[n+p];let d=r;if(s){let p=f;for(let m=0;m<u;m++)p-=l[c+m]*s[i+m];d*=this.#e.knee/Math.max(this.#e.knee,Math.abs(p))}this.#s[this.#a]=f,this.#i[this.#a++]=d,this.#a===4&&this.#u()}solve(e){this.#i.fill(0,this.#a),this.#u();let r=this.#t.solve(this.#r,e);return this.#t.clear(),r}#u(){this.#t.addFour(this.#n,this.#s,this.#i),this.#a=0}};function Op(t,e,r){let o=new Be(r,"coordinates/vectors"),n=s=>s%(e+1)===0;return Float64Array.from({length:t*(e+1)},(s,i)=>n(i)?0:Uy*o.normal())}function Pp(t,e,r){let{neighbours:{start:o,others:n,folds:s,weights:i,numNodes:a},values:u}=e,{rank:c,numPlainSweeps:l,numSweeps:f,without:d}=r,p=c+1,m=new Qr(r);for(let h=0;h<f;h++){let g=h<l?void 0:t;for(let _=0;_<a;_++){if(o[_]===o[_+1]){t.fill(0,_*p,(_+1)*p);continue}for(let x=o[_];x<o[_+1];x++){if(d>>s[x]&1)continue;let O={value:u[x],weight:i[x]};m.add(O,t,n[x]*p,g,_*p)}t.set(m.solve(),_*p)}}}function Rp(t,e,r,o){let n=t[r]+e[r];for(let s=1;s<=o;s++)n+=$p(s,o)*t[r+s]*e[r+s];return n}var Ky=2,Gy=2/3,Wy=5,Vy=2,Ip=ue-1,Et=class t{factors;#e;constructor(e){this.factors=e,this.#e=e.options.rank+1}static fit(e,r){let{powers:o,rank:n,without:s}=r,{numNodes:i,logs:a}=e,u=n+1,c=Yy(e,s),l=new Float32Array(i*o.length*u),f=new Float32Array(a.length),d=Op(i,n,r.seed);return o.forEach((p,m)=>{for(let g=0;g<f.length;g++)f[g]=ji(p,a[g]-c[0]);let h=m===0?{numPlainSweeps:Ky,numSweeps:r.numSweeps}:{numPlainSweeps:0,numSweeps:Math.ceil((1-Gy)*r.numSweeps)};Pp(d,{neighbours:e,values:f},{...r,...h});for(let g=0;g<i;g++)l.set(d.subarray(g*u,(g+1)*u),(g*o.length+m)*u)}),new t({powers:o,options:r,vectors:l,components:vp(e,s),range:c})}placeOf(e){let{powers:r,vectors:o,components:n}=this.factors,s=r.length*this.#e,i=n[e];return{vectors:o.subarray(e*s,(e+1)*s),component:i<ue?Ip-i:i}}put(e,{vectors:r,component:o}){this.placeOf(e).vectors.set(r),this.factors.components[e]=o===ue?ue:Ip-o}estimate(e,r){if(e.component===ue||r.component===ue)return;let{powers:o,options:n,range:[s,i,a]}=this.factors,u=e.component===r.component?n.rank:0,c=0,l=1/0,f=-1/0;return o.forEach((d,p)=>{let m=Rp(e.vectors,r.vectors,p*this.#e,u),h=Math.min(a,Math.max(i,s+bp(d,m)));c+=h,l=Math.min(l,h),f=Math.max(f,h)}),{log:c/o.length,spread:(f-l)/2}}locate(e,{usualError:r,without:o}){let{powers:n,options:s,components:i}=this.factors,a=new Float32Array(n.length*this.#e),u=x=>this.placeOf(x).component,c=Lp(e.map(({node:x})=>u(x)).filter(x=>x!==ue)),l=e.filter(({node:x})=>u(x)===c);if(c===void 0)return{vectors:a,component:ue,error:r};let f=[...i.keys()].filter(x=>i[x]===c&&!o.has(x)),d=Xr(f,2048).map(x=>({node:x,place:this.placeOf(x)})),p=l.map(({node:x,log:O})=>({place:this.placeOf(x),log:O})),{nodes:m,error:h}=kp(d,p,{estimate:(x,O)=>this.estimate(x,O)?.log??NaN,usualError:r}),g=s.regularisation*5,_=new Qr({...s,regularisation:g});return n.forEach((x,O)=>{let I=this.#r(m,O),E=I;for(let R=0;R<Wy;R++)this.#t(_,l,O,E),E=_.solve(I);a.set(E,O*this.#e)}),{vectors:a,component:c,error:Np(h,r)}}typicalPlace(e){let{powers:r,components:o}=this.factors,n=new Float32Array(r.length*this.#e),s=Lp(o.filter(f=>f>ue));if(s===void 0)return{vectors:n,component:ue,error:e};let i=Xr([...o.keys()].filter(f=>o[f]===s),2048),a=i.map(f=>({node:f,weight:1/i.length}));r.forEach((f,d)=>n.set(this.#r(a,d),d*this.#e));let u=Xr(i,64).map(f=>this.placeOf(f)),c=(f,d)=>this.estimate(f,d)?.log??NaN,l=u.flatMap(f=>{let d=c(f,{vectors:n,component:s});return u.filter(p=>p!==f).map(p=>Math.abs(c(f,p)-d))}).sort((f,d)=>f-d);return{vectors:n,component:s,error:Np(l[l.length>>1]??e,e)}}#t(e,r,o,n){let{powers:s,vectors:i,range:a}=this.factors;for(let{node:u,log:c}of r){let l=(u*s.length+o)*this.#e;e.add({value:ji(s[o],c-a[0]),weight:1},i,l,n)}}#r(e,r){let o=new Float64Array(this.#e),{vectors:n,powers:s}=this.factors;for(let{node:i,weight:a}of e){let u=(i*s.length+r)*this.#e;for(let c=0;c<o.length;c++)o[c]+=a*n[u+c]}return o}};function Np(t,e){return Math.fround(Vy*t*Math.max(1,t/e))}function Lp(t){let e=new Map;for(let r of t)e.set(r,(e.get(r)??0)+1);return[...e].sort(([r,o],[n,s])=>s-o||r-n)[0]?.[0]}function Yy({logs:t,folds:e,weights:r},o){let n=0,s=0,i=1/0,a=-1/0;for(let u=0;u<t.length;u++)o>>e[u]&1||(n+=r[u]*t[u],s+=r[u],i=Math.min(i,t[u]),a=Math.max(a,t[u]));return s===0?new Float32Array(3):Float32Array.of(n/s,i,a)}var At=[0,.5,1],Cp=6,Jy=.2;function hn(t){let{numNodes:e,numFolds:r,rank:o}=t;return{vectors:[r+1,e,At.length,1+o],nodes:[r+1,2,e],fits:[r+1,Cp]}}function Ki({numNodes:t,numFolds:e,rank:r},o){let n=At.length*(1+r);return Array.from({length:e+1},(s,i)=>[{part:"vectors",start:(i*t+o)*n,length:n},{part:"nodes",start:2*i*t+o,length:1},{part:"nodes",start:(2*i+1)*t+o,length:1}]).flat()}var Tt=class t{size;fits;#e;constructor(e,r){this.size=e,this.fits=r,b(r.length===e.numFolds+1,`${r.length} factorisations`)}foldOf(e,r){return Fi(e,r,this.size.numFolds)}estimate(e,r,o=this.size.numFolds){let{factorisation:n,errors:s,usualError:i}=this.fits[o],a=f=>typeof f=="number"?n.placeOf(f):f.places[o],u=n.estimate(a(e),a(r));if(!u)return;let c=f=>typeof f=="number"?s[f]:f.places[o].error,l=Math.sqrt(c(e)*c(r))*(u.spread/i+Jy);return{rttMs:Math.exp(u.log),error:l}}locate(e,r=new Set){let o=e.map(({node:n,rttMs:s})=>({node:n,log:fn(s)}));return{places:this.fits.map(({factorisation:n,usualError:s})=>n.locate(o,{usualError:s,without:r}))}}get typical(){return this.#e??={places:this.fits.map(({factorisation:e,usualError:r})=>e.typicalPlace(r))}}hasPlace(e,r=this.size.numFolds){return this.fits[r].factorisation.placeOf(e).component!==ue}put(e,{places:r}){r.forEach((o,n)=>{let{factorisation:s,errors:i}=this.fits[n];s.put(e,o),i[e]=o.error})}save(){let e=o=>{let n=new Float32Array(o.reduce((i,a)=>i+a.length,0)),s=0;for(let i of o)n.set(i,s),s+=i.length;return n},r=this.fits.map(({factorisation:o})=>o.factors);return{vectors:e(r.map(({vectors:o})=>o)),nodes:e(this.fits.flatMap(({errors:o},n)=>[r[n].components,o])),fits:e(this.fits.map(({usualError:o},n)=>{let{range:s,options:{knee:i,regularisation:a}}=r[n];return[...s,i,a,o]}))}}static load(e,r){let{numNodes:o,numFolds:n,rank:s}=e;for(let[l,f]of Object.entries(hn(e))){let{length:d}=r[l];b(d===f.reduce((p,m)=>p*m),`${d} ${l} of coordinates of shape ${f}`)}let{vectors:i,nodes:a,fits:u}=r,c=(l,f,d)=>l.subarray(d*f,(d+1)*f);return new t(e,Array.from({length:n+1},(l,f)=>{let d=c(u,Cp,f),[p,m,h]=d.subarray(3);return{factorisation:new Et({powers:At,options:{rank:s,knee:p,regularisation:m},vectors:c(i,o*At.length*(1+s),f),components:c(a,o,2*f),range:d.subarray(0,3)}),errors:c(a,o,2*f+1),usualError:h}}))}};var Xy=[{knee:.025,regularisation:.12},{knee:.01,regularisation:.06},{knee:.06,regularisation:.12},{knee:.06,regularisation:.5}],Qy=[.5],Dp=5,eb=1,tb=5e-4,rb=4;function Bp(t,e={}){let{seed:r=0,numFolds:o=4,numSweeps:n=30,maxBytes:s=2**29,settings:i=Xy}=e;b(o>=4&&o<=30&&o%2===0,`${o} folds`);let a=rb*At.length*(o+1)*t.numNodes,u=Math.max(1,Math.min(e.rank??24,Math.floor(s/a)-1)),c=new dn(t,o),l={rank:u,numSweeps:n,seed:r},f=i.map(ob),d=f.map(m=>sb(c,{...l,...m})),p=Array.from({length:o+1},(m,h)=>{let g=h===o,_=g?2**o-1:1<<nb(h),x=ab(d.map(I=>ib(c,I,_)));return{factorisation:Et.fit(c,{...l,...f[x],powers:At,without:g?0:1<<h}),...ub(c,d[x],_)}});return new Tt({numNodes:t.numNodes,numFolds:o,rank:u},p)}function ob({knee:t,regularisation:e}){return{knee:Math.fround(t),regularisation:Math.fround(e)}}function nb(t){return t^1}function sb(t,e){let{start:r,others:o,folds:n,logs:s,numNodes:i,numFolds:a}=t,u=new Float32Array(s.length);for(let c=0;c<a;c+=2){let l=3<<c,f=Et.fit(t,{...e,powers:Qy,without:l});for(let d=0;d<i;d++){let p=f.placeOf(d);for(let m=r[d];m<r[d+1];m++){if(!Gi(l,n[m]))continue;let h=f.estimate(p,f.placeOf(o[m]));u[m]=h?Math.abs(h.log-s[m]):NaN}}}return u}function Gi(t,e){return(t>>e&1)===1}function ib({folds:t},e,r){let o=0,n=0;for(let s=0;s<e.length;s++)!Gi(r,t[s])||Number.isNaN(e[s])||(o+=Math.sqrt(e[s]),n++);return n===0?0:o/n}function ab(t){return t.indexOf(Math.min(...t))}function ub({start:t,folds:e,numNodes:r},o,n){let s=(c,l)=>{let f=o.subarray(c,l).filter((d,p)=>Gi(n,e[c+p])&&!Number.isNaN(d));return{count:f.length,median:f.sort()[f.length>>1]}},i=s(0,o.length).median??eb,a=Math.fround(Math.max(tb,i)),u=Float32Array.from({length:r},(c,l)=>{let{count:f,median:d}=s(t[l],t[l+1]);return(f*(d??0)+Dp*a)/(f+Dp)});return{usualError:a,errors:u}}var z=4294967295,cb=64,zt=class{firstRow;numRows;#e;constructor(e,r){this.firstRow=e,this.numRows=r,this.#e=new Uint32Array(r)}row(e,r,o=!1){let n=r>>>0||1,{numRows:s}=this,i=this.#e,a=(e>>>0)%s;for(let u=0;u<Math.min(cb,s);u++){if(i[a]===n)return this.firstRow+a;if(i[a]===0)return o?(i[a]=n,this.firstRow+a):z;a=a+1===s?0:a+1}return z}get numOwned(){return this.#e.reduce((e,r)=>r===0?e:e+1,0)}save(e){lb(this.#e,e.subarray(2*this.firstRow))}load(e){b(e.length>=2*(this.firstRow+this.numRows),`${e.length} numbers of keys`),fb(e.subarray(2*this.firstRow),this.#e)}};function lb(t,e=new Float32Array(2*t.length)){for(let r=0;r<t.length;r++)e[2*r]=t[r]>>>16,e[2*r+1]=t[r]&65535;return e}function fb(t,e=new Uint32Array(t.length/2)){for(let r=0;r<e.length;r++)e[r]=t[2*r]*2**16+t[2*r+1];return e}function Zp(t,e){let r=ke(t+e),o=ke(r^Up);return{hash1:r,hash2:o,length:e,row:z,isDropped:!1,numBytes:0,isWhole:!1}}var Up=2654435769;function gn(t,e){t.hash1=ke(t.hash1*257+e+1),t.hash2=ke(Math.imul(t.hash2,65599)+e+1),t.isWhole=++t.numBytes===t.length}function qp(t,e,r=0){let o=(n,s)=>ke(n+s^Math.imul(n,s)^Math.imul(r,Up));return{hash1:o(t.hash1,e.hash1),hash2:o(t.hash2,e.hash2)}}function wn(t,e,r){return r>0&&ke(t^e)<r*2**32}var eo="coordinates.keys";function to(t){return`coordinates.${t}`}function jp(t){let e=Object.entries(hn(rr(t))).map(([r,o])=>{let n=o[o.length-1];return[to(r),[o.reduce((s,i)=>s*i)/n,n]]});return new Map([[eo,[t.nodes,2]],...e])}function rr({nodes:t,folds:e,rank:r}){return{numNodes:t,numFolds:e,rank:r}}var _n=class{config;#e;#t;constructor(e){this.config=e,this.#e=new zt(0,e.nodes)}load(e){this.#e.load(L(e,eo));let r=Object.keys(hn(rr(this.config))),o=Object.fromEntries(r.map(n=>[n,L(e,to(n))]));this.#t=Tt.load(rr(this.config),o)}save(e){let r=new Float32Array(2*this.config.nodes);this.#e.save(r),e.set(eo,r);for(let[o,n]of Object.entries(this.#t?.save()??{}))e.set(to(o),n)}get numNodes(){return this.#e.numOwned}node(e,r,o=!1){return this.#e.row(e,r,o)}fit(e){let{nodes:r,rank:o,folds:n}=this.config,s={rank:o,numFolds:n,maxBytes:1/0};this.#t=Bp({numNodes:r,...e},s)}hasPlace(e){return e!==z&&(this.#t?.hasPlace(e)??!1)}locate(e,r){let o=e.filter(({node:n})=>this.hasPlace(n)&&!r.has(n));return o.length===0?void 0:this.#t?.locate(o,r)}put(e){if(!(!this.#t||e.size===0)){this.#t=Tt.load(this.#t.size,this.#t.save());for(let[r,o]of e)this.#t.put(r,o)}}estimate(e,r,o={}){let{isTraining:n=!1,hidden:s=[]}=o,i=this.#t;if(!i||e===r&&e!==z)return;let a=n&&e!==z&&r!==z?i.foldOf(e,r):this.config.folds,[u,c]=[e,r].map((f,d)=>f!==z&&!s[d]&&i.hasPlace(f,a)?f:i.typical),l=i.estimate(u,c,a);return l&&{...l,isOfBoth:typeof u=="number"&&typeof c=="number"}}};var mb=0,hb=256,gb=512,wb=768,Wi=772,_b=0,xb=Wi,yb=2*Wi,Hp=3*Wi,Kp=Hp+48,Gp=Kp+26,Fp=2**-10,Wp=22,Vp=Gp+Wp;function Yp(t){return Xp(t,e=>[mb+(e>>8),hb+(e&255)])}function Jp(t,e){return Xp(t,r=>{let o=(r>>8)-e;return o===0?[gb+(r&255)]:[wb+(o>0?2:0)+(Math.abs(o)>1?1:0)]})}function Xp(t,e){if("rttMs"in t){let i=Math.log2(Math.max(t.error,Fp)/Fp),a=Math.min(Wp-1,Math.floor(2*i));return[...e(Ie(t.rttMs)).map(u=>yb+u),Gp+a]}let{typicalCode:r,newestCode:o,spread:n,age:s}=t;return[...e(r).map(i=>_b+i),...e(o).map(i=>xb+i),Hp+n,Kp+s]}var bb={v1:266,v2:267},ro=t=>P().min(1).max(t),Qp=2**36,em=St({rows:P().min(16).max(2**24),seed:P().min(0).max(2**31-1).default(0),dropShare:v().min(0).max(.95).default(.1)}),vb=St({...em.shape,history:vt().default(!0)}),Sb=St({nodes:P().min(16).max(2**24),rank:P().min(1).max(64).default(24),folds:P().min(4).max(30).multipleOf(2).default(4),dropShare:v().min(0).max(.95).default(.2)}),kb=St({numLayers:ro(1024),width:ro(65536),numHeads:ro(1024),headDim:Md([32,64,128]),mlpWidth:ro(262144),sequenceLength:ro(65535),vocabulary:lt(["v1","v2"]).default("v2"),rttEncoding:lt(lp).nullable().default(null),rttClipMs:v().min(.001).max(1e9).default(1e3),activation:lt(["relu2","gelu","silu"]).default("relu2"),softcap:v().min(.001).max(1e6).nullable().default(15),qkNorm:vt().default(!0),keyShift:vt().default(!1),byteVectors:lt(["random","ordinal"]).default("random"),prefixVectors:em.nullable().default(null),pairVectors:vb.nullable().default(null),coordinates:Sb.nullable().default(null)});function xn(t){let e=cp(kb,t,"model");return Eb(e),e}function Eb(t){for(let r of["width","mlpWidth"])if(t[r]%4!==0)throw new je(`model.${r}`,`found ${t[r]}, a multiple of 4 was wanted`);for(let r of["prefixVectors","pairVectors","coordinates"])if(t[r]&&t.vocabulary!=="v2")throw new je(`model.${r}`,`vocabulary ${t.vocabulary} has none, v2 or null was wanted`);if(t.rttEncoding!==null&&t.vocabulary!=="v1")throw new je("model.rttEncoding","vocabulary v2 has one of its own, v1 or null was wanted");let e=Tb(t);if(e>Qp)throw new je("model",`found ${e} parameters, at most ${Qp} were wanted`)}function yn({vocabulary:t,rttEncoding:e,rttClipMs:r}){return t==="v1"?{name:e??"float64",clipMs:r}:void 0}function xe(t){let{prefixVectors:e,pairVectors:r}=t;return(e?.rows??0)+(r?.rows??0)+Ab(t)}function Ab({pairVectors:t,coordinates:e}){return t?.history||e?Vp:0}function q(t){return bb[t.vocabulary]}function bn(t){let{width:e,mlpWidth:r}=t,o=t.numHeads*t.headDim,n=q(t),s=new Map([["wte.weight",[n,e]]]),i=xe(t);i>0&&s.set("wpe.weight",[i,e]);for(let a=0;a<t.numLayers;a++){let u=`blocks.${a}`;s.set(`${u}.attn.q_proj.weight`,[o,e]),s.set(`${u}.attn.k_proj.weight`,[o,e]),s.set(`${u}.attn.v_proj.weight`,[o,e]),s.set(`${u}.attn.o_proj.weight`,[e,o]),s.set(`${u}.mlp.up_proj.weight`,[r,e]),s.set(`${u}.mlp.down_proj.weight`,[e,r])}return s.set("lm_head.weight",[n,e]),s}function vn(t){let e=bn(t),{prefixVectors:r,pairVectors:o}=t,n=(r?.rows??0)+(o?.rows??0);n>0&&e.set(Ee,[n,2]),o?.history&&e.set(or,[o.rows,pt]);let s=t.coordinates?jp(t.coordinates):[];return new Map([...e,...s])}var Ee="wpe.keys",or="wpe.history";function Tb(t){let e=0;for(let r of bn(t).values())e+=r[0]*r[1];return e}var tm=["MeasurementStart","SrcIpStart","DestIpStart","Ipv4Start","Ipv6Start","RttStart","SizeStart","ErrorCountStart","TimestampStart","MsmIdStart"];var zb=37;function rm(t){return zb+t.source.length+t.destination.length}function nr({source:t,destination:e,timeS:r}){return 14+(r===null?0:9)+t.length+e.length}var om={v1:{byteBase:10,roleNames:tm,opens:t=>t<10&&t!==3&&t!==4,fieldOf(t){return t===1?"source":t===2?"destination":t===5?"result":"time"}},v2:{byteBase:11,roleNames:un,opens:t=>t<11,fieldOf(t){return t===1||t===2?"source":t===3||t===4?"destination":t===8||t===10?"result":"time"}}};var nm=2**32;var $t=class{out;rttEncoding;at;#e;constructor(e,r){this.out=e,this.rttEncoding=r,this.at=0,this.#e=new DataView(new ArrayBuffer(8))}writeFields(e,r){let{source:o,destination:n,timeS:s}=e,i=e.rttMs===null?null:Math.min(Math.fround(e.rttMs),this.rttEncoding.maxRttMs),a={sizeBytes:0,packetErrorCount:0,msmId:0},u=r.map(c=>c==="result"?"rtt":c);return this.write({source:o,destination:n,rttMs:i,timeS:s??0,...a},s===null?u.filter(c=>c!=="time"):u,nr(e))}write(e,r,o=rm(e)){let n=this.at;if(n+o>this.out.length)throw new RangeError(`Cannot write a measurement of ${o} tokens: found room for ${this.out.length-n}`);try{this.out[this.at++]=0;for(let s of r)this.#t(s,e)}catch(s){throw this.at=n,s}return this.at-n!==o&&b(!1,`the order ${r} gave ${this.at-n} of ${o} tokens`),o}#t(e,r){switch(e){case"source":return this.#r(1,r.source);case"destination":return this.#r(2,r.destination);case"rtt":return this.rttEncoding.encode(r.rttMs,this.#e),this.#n(5,8);case"size":return Yi("packet size",r.sizeBytes,0,65535),this.#e.setUint16(0,r.sizeBytes),this.#n(6,2);case"errorCount":return Yi("error count",r.packetErrorCount,0,255),this.#e.setUint8(0,r.packetErrorCount),this.#n(7,1);case"time":return this.#o(8,"time",r.timeS);case"msmId":return this.#o(9,"measurement id",r.msmId)}}#r(e,r){if(r.length!==4&&r.length!==16)throw new RangeError(`Cannot write an address: found ${r.length} bytes, 4 or 16 were wanted`);this.out[this.at++]=e,this.out[this.at++]=r.length===4?3:4;for(let o=0;o<r.length;o++)this.out[this.at++]=10+r[o]}#o(e,r,o){Yi(r,o,Number.MIN_SAFE_INTEGER,Number.MAX_SAFE_INTEGER);let n=Math.floor(o/nm);this.#e.setInt32(0,n),this.#e.setUint32(4,o-n*nm),this.#n(e,8)}#n(e,r){this.out[this.at++]=e;for(let o=0;o<r;o++)this.out[this.at++]=10+this.#e.getUint8(o)}};function Yi(t,e,r,o){if(!(Number.isInteger(e)&&e>=r&&e<=o))throw new RangeError(`Cannot write the ${t} ${e}: an integer in ${r}..${o} was wanted`)}var T4=2**32,z4={[1]:"source",[2]:"destination",[5]:"rtt",[6]:"size",[7]:"errorCount",[8]:"time",[9]:"msmId"};var sm=2**32-1;function Ae(t,e){let{source:r,destination:o,timeS:n,context:s}=t;return Xe({source:r,destination:o,rttCode:null,timeS:n},{context:s,order:Le,sequenceLength:e}).subarray(0,-1)}function Xe(t,e){let{context:r,order:o,sequenceLength:n}=e,{source:s,destination:i}=t;if(s.length!==i.length)throw new y(`Cannot ask for an RTT from IPv${s.length===4?4:6} to IPv${i.length===4?4:6}: two addresses of one version were wanted`);let a=new Uint16Array(n+1),u=new Ce(a),c=Ot({...t,context:r},n);ra(c,t.timeS);for(let l of c)u.write(l,Le);return u.write(t,o),a.subarray(0,u.at)}function ra(t,e){let r=null;for(let{timeS:o}of[...t,{timeS:e}]){if(e!==null&&o!==null&&o>e)throw new y(`Cannot ask about Unix time ${e}: found a measurement of ${o} in its context, none after it was wanted`);if(r!==null&&o!==null&&o-r>sm)throw new y(`Cannot ask about times ${o-r} s apart: at most ${sm} s between two measurements were wanted`);r=o??r}}function Ot(t,e){let{source:r,destination:o,timeS:n,context:s}=t,i={source:r,destination:o,rttCode:null,timeS:n},a=e-1,u=Math.max(0,s.length-Math.ceil(a/11));for(let c=u;c<=s.length;c++){let l=null,f=0;for(let d of[...s.slice(c),i])f+=dt(d,l),l=d.timeS??l;if(f<=a)return s.slice(c)}throw new y(`Cannot ask: a measurement does not fit the model's sequence of ${e} tokens; use a model with longer sequences`)}function se(t,e,r=267){return t.subarray(e*r,(e+1)*r)}var ir=-1;function En(t,e){let r=Float64Array.from(e,(s,i)=>s===ir?ir:t[i]*65536+s),o=Float64Array.from(new Set(r.filter(s=>s>=0))).sort(),n=new Map(Array.from(o,(s,i)=>[s,i]));return{tokens:Uint16Array.from(o,s=>s%2**16),parents:Uint32Array.from(o,s=>Math.floor(s/2**16)),rows:Uint32Array.from(r,s=>n.get(s)??0)}}function Pt({first:t,last:e}){return Array.from({length:e-t+1},(r,o)=>11+t+o)}function An(t,{first:e,last:r}){let o=0;for(let n=e;n<=r;n++)o+=Math.exp(t[11+n]);return o}function Tn(t,{tokens:e,random:r,temperature:o=1}){let n=-1/0;for(let a of e)n=Math.max(n,t[a]);let s=e.map(a=>Math.exp((t[a]-n)/o)),i=r.float64()*s.reduce((a,u)=>a+u,0);for(let a=0;a<s.length;a++)if(i-=s[a],i<0)return e[a];return e[s.indexOf(1)]}async function*zn(t,e,{count:r,begin:o}){let{maxRows:n}=t.continuationExtent;for(let s=0;s<r;s+=n){let i=Array.from({length:Math.min(n,r-s)},(a,u)=>o(s+u));await t.continuePrompts([e],async(a,u)=>{a.fork([i.length]);for(let c of i)c.draw(u);for(;i.some(c=>!c.isComplete);){let c=await a.step(i.map(l=>l.lastToken));i.forEach((l,f)=>l.draw(se(c,f)))}}),yield*i}}function io(t,e){let r=0,o=t;for(;r<o;){let n=Math.floor((r+o)/2);e(n)?o=n:r=n+1}return r}var Rt=Float64Array.from(te,Jo),um=6e4,im=Rt.findIndex(t=>t>um),Mb=.01,mt=class{pFailed;probabilities;canonicalMass;spreadMass;#e;constructor(e,r,o,n=0){this.pFailed=e,this.probabilities=r,this.canonicalMass=o,this.spreadMass=n,b(r.length===te.length,"one probability per canonical code"),this.#e=new Float64Array(r.length);let s=0;for(let i=0;i<r.length;i++)this.#e[i]=s+=r[i]}get meanMs(){let e=this.withinPingLimit;if(e===0)return um;let r=0;for(let o=0;o<im;o++)r+=this.probabilities[o]*Rt[o];return r/e}get withinPingLimit(){return this.#e[im-1]}probabilityOf(e){return this.probabilities[this.indexOf(e)]}cdf(e){return this.#e[this.indexOf(e)]}indexOf(e){return am(te,Ie(e))}quantileMs(e){if(!(e>=0&&e<=1))throw new RangeError(`Cannot take quantile ${e}: 0 to 1 was wanted`);return this.#t(e*this.#e[this.#e.length-1])}likeliest(){let e=0,r=0,o=0,n=0;for(let i=0;i<Rt.length;i++){for(n+=this.probabilities[i];Rt[i]>Rt[o]*(1+Mb);)n-=this.probabilities[o++];n>e&&(e=n,r=o)}let s=r===0?0:this.#e[r-1];return{rttMs:this.#t(s+e/2),probability:e}}histogram(e){let r=Math.log(this.quantileMs(.005)*.999),o=Math.log(this.quantileMs(.995)*1.001),n=i=>Math.exp(r+(o-r)*i/e),s=Array.from({length:e},(i,a)=>({lowMs:n(a),highMs:n(a+1),probability:0}));for(let i=0;i<this.probabilities.length;i++)this.probabilities[i]>0&&Ib(s,te[i],this.probabilities[i]);return s}#t(e){return Rt[Math.min(am(this.#e,e),Rt.length-1)]}};function Ib(t,e,r){let o=Xo(e);if(o.highMs<=t[0].lowMs||o.lowMs>=t[t.length-1].highMs)return;let n=o.highMs-o.lowMs,s=Math.log(t[0].highMs/t[0].lowMs),i=Math.floor(Math.log(Math.max(o.lowMs,t[0].lowMs)/t[0].lowMs)/s);for(let a=Math.max(0,i-1);a<t.length&&t[a].lowMs<o.highMs;a++){let u=Math.min(o.highMs,t[a].highMs)-Math.max(o.lowMs,t[a].lowMs);u>0&&(t[a].probability+=r*u/n)}}function am(t,e){return io(t.length,r=>t[r]>=e)}var W=[...new Set([...te].map(t=>t>>8))],Nb=W.map(t=>11+t),cm=[8,10],$n=Array.from({length:256},(t,e)=>[...te].filter(r=>r>>8===e).map(r=>r&255));function ur(t){return $n[t]}function lm(t){let{outcome:e,first:r,seconds:o,expanded:n}=t,s=new Float64Array(te.length),i=Qe(r,W),a=0,u=0,c=0,l=0;return W.forEach((f,d)=>{let p=i.probabilities[d],m=$n[f].length;if(n[l]===d){let h=Qe(se(o,l++),$n[f]);a+=p*i.mass*h.mass;for(let g of h.probabilities)s[c++]=p*g}else a+=p*i.mass,u+=p,s.fill(p/m,c,c+=m)}),new mt(oa(e),s,a,u)}function oa(t){return 1/(1+Math.exp(t[8]-t[10]))}function fm(t,{outcome:e,first:r,second:o}){if(t===null)return ar(e,10,cm);let[n,s]=[t>>8,t&255];return ar(e,8,cm)+ar(r,11+n,Nb)+ar(o,11+s,$n[n].map(i=>11+i))}function ar(t,e,r){let o=-1/0;for(let s of r)o=Math.max(o,t[s]);let n=0;for(let s of r)n+=Math.exp(t[s]-o);return t[e]-o-Math.log(n)}function dm(t,{maxSpreadMass:e,code:r}){let{probabilities:o}=Qe(t,W),s=W.keys().toArray().toSorted((u,c)=>o[c]-o[u]),i=new Set(r===null?[]:[W.indexOf(r>>8)]),a=1;for(let u of s){if(a<=e)break;i.add(u),a-=o[u]}return[...i].sort((u,c)=>u-c)}function Qe(t,e){let r=new Float64Array(e.length),o=0;for(let n=0;n<e.length;n++)o+=r[n]=Math.exp(t[11+e[n]]);for(let n=0;n<e.length;n++)r[n]/=o;return{mass:o,probabilities:r}}var pm=Pt({first:0,last:255}),Lb=[Pt({first:0,last:0}),Pt({first:0,last:31})],Cb=Pt({first:1,last:255}),Db=W.map(t=>11+t),Bb=new Map(W.map(t=>[t,ur(t).map(e=>11+e)])),mm=[{field:"source",token:1,numBytes:4},{field:"source",token:2,numBytes:16},{field:"destination",token:3,numBytes:4},{field:"destination",token:4,numBytes:16},{field:"result",token:8,numBytes:2},{field:"result",token:10,numBytes:0},{field:"time",token:5,numBytes:8},{field:"time",token:6,numBytes:1},{field:"time",token:7,numBytes:4}],cr=class{#e=new Set(["source","destination","result","time"]);#t;#r=0;#o=0;#n=[];#s=0;#i=!1;constructor(e){this.#t=e}get isComplete(){return this.#i||this.#e.size===0&&this.#s===0}allowed(){return this.isComplete?[]:this.#s>0?this.#u():this.#a()}push(e){if(this.#s>0){this.#s--,this.#n.push(e-11);return}if(e===0){this.#i=!0;return}let r=mm.find(o=>o.token===e);b(r&&this.#e.delete(r.field),`token ${e}`),this.#o=e,this.#n=[],this.#s=r.numBytes,(r.field==="source"||r.field==="destination")&&(this.#r=r.numBytes)}#a(){let r=mm.filter(({field:n,token:s,numBytes:i})=>this.#e.has(n)?n==="time"?this.#t===(s!==5):n==="result"||this.#r===0||this.#r===i:!1).map(({token:n})=>n);return this.#e.size===1&&this.#e.has("time")?[...r,0]:r}#u(){let e=this.#n;return this.#o===8?e.length===0?Db:Bb.get(e[0])??[]:this.#o===5?Lb[e.length]??pm:this.#o===7&&e.length===2&&e[0]+e[1]===0?Cb:pm}};var na=new Set([5,6,7]);function Zb(t){return t?Wr:Wr.filter(e=>e[3]==="time").map(e=>e.slice(0,3))}async function hm(t,e,r={}){let o=e.map(s=>Ub(s,r.order,t.config)),n=await Fb(t,o);return o.map(({orders:s})=>Gb(s.map(i=>Kb(i,n.get(i)??[]))))}function Ub(t,e,r){let o=jb(t.measurement,e),n=qb(t,o[0],r),s=n.lastIndexOf(0)+1,{opens:i}=om[r.vocabulary],a=[...n.keys()].filter(c=>c>=s&&i(n[c])),u=new Map(o[0].map((c,l)=>[c,[...n.subarray(a[l],a[l+1])]]));return{prompt:n.subarray(0,s),orders:o.map(c=>{let l=c.map(f=>u.get(f)??[]);return{order:c,lengths:l.map(({length:f})=>f),tokens:Uint16Array.from(l.flat())}})}}function qb({measurement:t,rttMs:e,context:r},o,n){let s=yn(n);if(!s)return Xe(t,{context:r,order:o,sequenceLength:n.sequenceLength});b(e!==void 0&&r.length===0,"vocabulary v1 takes RTTs, and no context");let i={...t,rttMs:e},a=new Uint16Array(nr(i));return new $t(a,on(s)).writeFields(i,o),a}function jb({timeS:t},e){return e?[t===null?e.filter(r=>r!=="time"):e]:Zb(t!==null)}async function Fb(t,e){let r=[...Map.groupBy(e,({prompt:s})=>s.join()).values()].map(s=>({prompt:s[0].prompt,orders:s.flatMap(({orders:i})=>i)})),n=(await t.decoders.continuationLogProbabilities(r.map(({prompt:s,orders:i})=>({prompt:s,continuations:i.map(({tokens:a})=>a)})),t.config.vocabulary==="v2"?Hb:void 0)).map(s=>Array.from(s,i=>-i/Math.LN2));return new Map(r.flatMap(({orders:s})=>s).map((s,i)=>[s,n[i]]))}function Hb(t,e){let r=t.some(s=>na.has(s)),o=new cr(e.some(s=>na.has(s))),n=s=>s!==0&&(r||!na.has(s));return Array.from(t,s=>{let i=o.allowed().filter(n);return o.push(s),i})}function Kb({order:t,lengths:e},r){let o=0;return{blocks:t.map((s,i)=>{let a=r.slice(o,o+=e[i]);return{field:s,tokenBits:a,bits:ao(a)}}),bits:ao(r)}}function Gb(t){let e=t.map(({bits:i})=>i),r=ao(e)/e.length,o=Math.sqrt(ao(e.map(i=>(i-r)**2))/e.length),n=Math.min(...e),s=n-Math.log2(ao(e.map(i=>2**(n-i))));return{orders:t,meanBits:r,spreadBits:o,totalBits:s}}function ao(t){return t.reduce((e,r)=>e+r,0)}function gm(t,e){if(e===null)return t;let r=t.length;for(;r>0&&(t[r-1].timeS??e)>e;)r--;return r===t.length?t:t.slice(0,r)}var Wb=["time","source","destination","result"];async function wm(t,e,r){let o=Vb(e,t.config.sequenceLength),n=await Yb(t,o),s=a=>new sa(o,n,{index:a,seed:r.seed}),i=zn(t.decoders,o.prompt,{count:r.numDraws,begin:s});return Jb(e,await Array.fromAsync(i,a=>a.resultOf(e)))}function Vb({source:t,destination:e,timeS:r,context:o},n){let s={source:t.bytes,destination:e.bytes,rttCode:null,timeS:r},i=Xe(s,{context:o,order:Wb,sequenceLength:n}),a=1+t.bytes.length,u=i.length-1-2*a,c=["source","destination"].flatMap((d,p)=>{let m=d==="source"?t:e,h={kind:"role",token:i[u+p*a]},g=[...m.bytes.keys()].map(_=>({kind:"byte",side:d,index:_,range:Wd(m,_)}));return[h,...g]}),l=d=>d.kind==="byte"&&d.range.first<d.range.last,f=c.findIndex(l);return{prompt:i.slice(0,u+f),fixed:c.slice(0,f),drawn:c.slice(f,c.findLastIndex(l)+1)}}async function Yb(t,{prompt:e,fixed:r}){let[o]=await t.decoders.tokenLogProbabilities([e],r.length),n={source:1,destination:1};return r.forEach((s,i)=>{s.kind==="byte"&&(n[s.side]*=Math.exp(o[i]))}),n}var sa=class{#e={source:new Map,destination:new Map};#t;#r;#o;#n=0;lastToken=0;constructor(e,r,{index:o,seed:n}){this.#t=e,this.#o={...r},this.#r=new Be(n,"query/prefix",o)}get isComplete(){return this.#n===this.#t.drawn.length}draw(e){let r=this.#t.drawn[this.#n++];if(r.kind==="role"){this.lastToken=r.token;return}let{side:o,index:n,range:s}=r;s.last-s.first<255&&(this.#o[o]*=An(e,s)),this.lastToken=Tn(e,{tokens:Pt(s),random:this.#r}),this.#e[o].set(n,this.lastToken-11)}resultOf({source:e,destination:r}){return{source:this.#s("source",e),destination:this.#s("destination",r),mass:this.#o}}#s(e,{bytes:r}){return r.map((o,n)=>this.#e[e].get(n)??o)}};function Jb({source:t,destination:e},r){let o=new Map;for(let{mass:u,...c}of r){let l=`${c.source} ${c.destination}`,f=o.get(l);f?f.count++:o.set(l,{...c,count:1})}let n=r.map(({mass:u})=>u.destination),s=r.length,i=n.reduce((u,c)=>u+c,0)/s,a=n.reduce((u,c)=>u+(c-i)**2,0)/(s-1);return{pairs:[...o.values()],sourceProbability:re(t)?null:r[0].mass.source,destinationProbability:re(e)?null:i,destinationProbabilityError:re(t)||re(e)?0:Math.sqrt(a/s)}}function _m(t){return{distribution:t,numDraws:0,numDistinct:1,pFailedError:0,meanErrorMs:0,cdfError:()=>0,quantileErrorMs:()=>0}}var On=class{#e=0;#t=0;#r=new lr;#o=0;#n=new lr;#s=new lr;#i=new lr;#a=new Float64Array(te.length);#u=new Float64Array(te.length);#c=new Float64Array(te.length);add(e,r){let{pFailed:o,probabilities:n}=e,s=Math.max(1-o,Number.EPSILON);this.#e+=r,this.#t++,this.#o+=r*e.canonicalMass,this.#r.add({y:o,w:1,count:r}),this.#n.add({y:s,w:s,count:r});let i=s*e.withinPingLimit;this.#s.add({y:i*e.meanMs,w:i,count:r}),this.#i.add({y:i,w:i,count:r});let a=0;for(let u=0;u<n.length;u++){let c=s*n[u];a+=c,this.#a[u]+=r*c,this.#u[u]+=r*a*a,this.#c[u]+=r*a*s}}mixture(){let e=this.#e;b(e>=2,`${e} draws have no standard error`);let r=this.#n,o=new mt(this.#r.sum/e,this.#a.map(a=>a/r.sum),this.#o/e),n=(a,u,c=r)=>{let l=a.squares-2*u*a.products+u**2*c.squares;return Math.sqrt(Math.max(0,l)*e/(e-1))/c.sum},s=a=>{let u=o.indexOf(a);return n({squares:this.#u[u],products:this.#c[u]},o.cdf(a))},i=this.#r.squares/e-(this.#r.sum/e)**2;return{distribution:o,numDraws:e,numDistinct:this.#t,cdfError:s,pFailedError:Math.sqrt(Math.max(0,i)/(e-1)),meanErrorMs:this.#i.sum===0?0:n(this.#s,this.#s.sum/this.#i.sum,this.#i),quantileErrorMs:a=>{let u=s(o.quantileMs(a));return(o.quantileMs(Math.min(1,a+u))-o.quantileMs(Math.max(0,a-u)))/2}}}},lr=class{sum=0;squares=0;products=0;add({y:e,w:r,count:o}){this.sum+=o*e,this.squares+=o*e*e,this.products+=o*e*r}};var xm=124,Xb=64;async function ia(t,e,r={}){let o="source"in e?e:Pi(e),{numDraws:n=Xb,seed:s=0,onProgress:i=()=>{}}=r;if(!(Number.isInteger(n)&&n>=2))throw new RangeError(`Cannot draw ${n} addresses: a whole number of at least 2 was wanted`);if(re(o.source)&&re(o.destination)){let{source:l,destination:f}=o,d={...o,source:l.bytes,destination:f.bytes};return Pn(await t.rttDistribution(d))}let{pairs:a,...u}=await wm(t,o,{numDraws:n,seed:s}),c=new On;for(let l=0;l<a.length;l+=xm){let f=a.slice(l,l+xm),d=f.map(({source:m,destination:h})=>({...o,source:m,destination:h}));(await t.rttDistributions(d)).forEach((m,h)=>c.add(m,f[h].count)),i(l+f.length,a.length)}return{mixture:c.mixture(),...u}}function Pn(t){return{mixture:_m(t),sourceProbability:null,destinationProbability:null,destinationProbabilityError:0}}function ym({config:{sequenceLength:t}},e,r){let{source:o,destination:n,timeS:s}=e,i=e.context??gm(r,s),a=e.context?0:r.length-i.length,u={source:o.bytes,destination:n.bytes,timeS:s,context:i},c={...u,context:Ot(u,t)};return Ae(c,t),{query:{...e,context:e.context&&c.context},first:c,numContext:i.length,numContextLater:a}}function bm({query:t,numContext:e,numContextLater:r,numContextUsed:o}){let n=[...t.notes];return r>0&&n.push(`${r} context measurements are after the query's time and were left out`),o<e&&n.push(`the newest ${o} of ${e} context measurements were used: more do not fit`),n}async function*vm(t,e,r){let o=ev(e,t.config.sequenceLength),{count:n}=r,s=i=>new aa(o,i,r);for await(let i of zn(t.decoders,o.tokens,{count:n,begin:s}))yield i.measurement()}function Qb(t,e){let{context:r}=t,o=t.source??t.destination??new Uint8Array(16),n=r.findLast(({timeS:i})=>i!==null)?.timeS??null,s=n===null?0:n+256;return Ot({source:o,destination:o,timeS:s,context:r},e)}function ev(t,e){let{source:r,destination:o,timeS:n}=t;if(r&&o&&r.length!==o.length)throw new y("Cannot sample between addresses of different versions: two addresses of one version were wanted");let s=new Uint16Array(e+1),i=new Ce(s),a=Qb(t,e);ra(a,n);for(let g of a)i.write(g,Le);let{at:u,previousTimeS:c}=i,l={source:r!==void 0,destination:o!==void 0,time:n!==null},f=r??o??new Uint8Array(4),d={source:r??f,destination:o??f,rttCode:null,timeS:n},p=["source","destination","time"];i.write(d,[...p.filter(g=>l[g]),...p.filter(g=>!l[g]),"result"]);let h=(Number(l.source)+Number(l.destination))*(1+f.length)+Vr(n,c);return{tokens:s.slice(0,u+1+h),start:u,hasEarlierTime:c!==null}}var aa=class{#e;#t;#r;#o;#n;constructor({tokens:e,start:r,hasEarlierTime:o},n,{seed:s,temperature:i=1,topK:a=1/0}){this.#e=[...e],this.#t=new cr(o);for(let u of e.subarray(r+1))this.#t.push(u);this.#r=new Be(s,"query/sample",n),this.#o=i,this.#n=a}get isComplete(){return this.#t.isComplete}get lastToken(){return this.#e[this.#e.length-1]}draw(e){if(this.isComplete)return;let r=this.#t.allowed(),o=r.length<=this.#n?r:r.toSorted((s,i)=>e[i]-e[s]).slice(0,this.#n),n=Tn(e,{tokens:o,random:this.#r,temperature:this.#o});this.#t.push(n),n!==0&&this.#e.push(n)}measurement(){let e=Ui(Uint16Array.from(this.#e)).at(-1);return b(e,"a sample has a measurement"),e}};var tv=8,rv=4,ov=.5;async function Sm(t){let e=new Map,r={count:tv,seed:0,temperature:ov};for await(let{source:o,destination:n}of vm(t,{timeS:null,context:[]},r)){let s={src_addr:ve(o),dst_addr:ve(n)};e.set(`${s.src_addr} ${s.dst_addr}`,s)}return[...e.values()].slice(0,rv)}var nv=["source","time","result","destination"];function et({rttMs:t}){if(!t)return[null];let[e,r]=t;if(!(e>=0&&e<=r&&r<1/0))throw new y(`Cannot ask for destinations at an RTT of ${e}..${r} ms: 0 or more, the lesser first, was wanted`);let o=Ie(e),n=Ie(r);return[...te.filter(s=>s>=o&&s<=n)]}function sv(t,e){let{source:r,timeS:o,context:n}=t,s=et(t),i={source:r,destination:r,rttCode:s[0],timeS:o},a=Xe(i,{context:n,order:nv,sequenceLength:e}),u=1+r.length;return a.subarray(0,s.length>1?-u-2:-r.length)}function km(t,e){let r=t.source.length===4?3:4;return et(t).length<=1?e.map(()=>[]):e.map(o=>(b(o!==null,"a range of RTTs has codes"),[11+(o>>8),11+(o&255),r]))}async function Em({config:t,decoders:e},r,o){let n=sv(r,t.sequenceLength);return await e.continuePrompts([n],async(s,i)=>await o({decoder:s,ends:i}))}async function Am(t,{decoder:e,ends:r}){let o=et(t).map(Number);if(o.length===1)return Float64Array.of(1);let n=[...new Set(o.map(a=>a>>8))];e.fork([n.length]);let s=await e.step(n.map(a=>11+a)),i=new Map(n.flatMap((a,u)=>{let c=ur(a),l=Qe(se(s,u),c).probabilities;return c.map((f,d)=>[a<<8|f,Math.exp(r[11+a])*l[d]])}));return Float64Array.from(o,a=>i.get(a)??0)}var Rn=256,iv={first:0,last:Rn-1};async function Mn(t,e){let{decoder:r,ends:o,walks:n}=t,s=n.flatMap((c,l)=>c.flatMap(({tree:f,tails:d})=>f.take(e).map(p=>({tree:f,tails:d,prompt:l,at:p})))).map(c=>new ua(c));if(s.length===0)return 0;r.fork(n.map(()=>1));let i=s[0].tails[0].length,a=o,u=Uint32Array.from(s.flatMap(({prompt:c,tails:l})=>l.map(()=>c)));for(let c=0;;c++){let l=c-i,f=0;for(let p of s){let m=u.subarray(f,f+=p.tails.length);l>=0&&p.look(l,Array.from(m,h=>se(a,h)))}let d=En(u,s.flatMap(p=>p.tokens(c)));if(d.tokens.length===0)return s.length;a=await r.step(d.tokens,d.parents),u=d.rows}}var ua=class{prompt;tails;#e;#t;#r=!1;constructor({tree:e,tails:r,prompt:o,at:n}){this.#e=e,this.tails=r,this.prompt=o,this.#t=n}look(e,r){if(this.#r||this.#t.bytes.length!==e)return;let o=new Float64Array(r.length*Rn);r.forEach((s,i)=>av(o,i,s));let n=this.#e.expand(this.#t,o);n?this.#t=n:this.#r=!0}tokens(e){return this.tails.map(r=>this.#r?ir:r[e]??11+this.#t.bytes[e-r.length])}};function av(t,e,r){let o=An(r,iv);for(let n=0;n<Rn;n++)t[e*Rn+n]=Math.exp(r[11+n])/o}var Tm=47;var T1=new Uint16Array(9);function zm(t){return t?cv(t):uv}var uv={maxMeasurementTokens:Tm,divide:t=>[t],write({measurements:t},e,r,o){let n=new Ce(e,r);for(let s of t){let i=n.at;n.write(s,s.order),!(!o||s.rttCode===null||!s.recall)&&hp(s.recall,o,e.indexOf(8,i)*an)}return n.at}};function cv(t){let e=on(t);return{maxMeasurementTokens:55,divide:({mode:r,measurements:o})=>o.map(n=>({mode:r,measurements:[n],numTokens:nr(n)})),write({measurements:r},o,n){let s=new $t(o,e);s.at=n;for(let i of r)s.writeFields(i,i.order);return s.at}}}function Te(t){return t.shape.reduce((e,r)=>e*r,1)}function He(t){return Te(t)*(t.dtype==="f16"?2:4)}function In(t,e="f32"){return Math.max(16,Math.ceil(He({shape:t,dtype:e})/16)*16)}var lv={};function fr(t,e){return(r,o,n)=>t(e+r,o,n)}function uo(t){return ca(t).reduce((e,{sizeBytes:r})=>e+r,0)}function dr(t){return ca(t).reduce((e,{sizeBytes:r})=>Math.max(e,r),0)}function ca(t){let e=[];return t((r,o,n)=>(e.push({label:r,sizeBytes:In(o,n)}),lv)),e}function Mt({limits:t}){return Math.min(t.maxBufferSize,t.maxStorageBufferBindingSize)}async function Nn(t,e,r){let o=Mt(t.device),n=ca(e).find(({sizeBytes:i})=>i>o);if(n)throw $m(`${n.label} takes ${tt(n.sizeBytes)}`,`${tt(o)} a buffer`,r);t.device.pushErrorScope("out-of-memory");let s=e((i,a,u)=>t.tensor(i,a,u));if(await t.device.popErrorScope()){let i=`${r.what} takes ${tt(uo(e))}`;throw $m(i,"what the GPU has free",r)}return s}function tt(t){return`${Math.ceil(t/2**20).toLocaleString("en")} MiB`}function $m(t,e,{what:r,remedy:o}){return new y(`Cannot allocate ${r}: ${t}, at most ${e} was wanted; ${o}`)}var la=256,fa=65535;function X(t){let e=Math.ceil(t/fa);return[Math.ceil(t/e),e]}var ze=class{registry;label;#e;#t;#r;#o;#n;#s;#i;constructor(e,r){this.registry=e,this.label=r,this.#e=[],this.#t=[],this.#o=0,this.#n=0,this.#r=e.gpu}add(e){b(!this.#i,`program ${this.label} is built already`);let r=this.#a(e);if(this.#e.push({dispatch:e,kernel:r,paramsOffsetBytes:this.#o}),r.interface.params.length>0){let o=r.interface.params.length*4;this.#o+=Math.ceil(o/la)*la}return this}mark(e){this.#t.push({label:e,end:this.#e.length})}scratch(e){b(!this.#s,`scratch memory of program ${this.label} is allocated already`),this.#n=Math.max(this.#n,e);let r=()=>this.#r.tensor(`${this.label} scratch`,[this.#n]).buffer,o=()=>this.#s??=r();return{label:"scratch",shape:[e],offsetBytes:0,get buffer(){return o()}}}get dispatches(){return this.#e.map(({dispatch:e})=>e)}choose(e,{overrides:r,grid:o}){b(!this.#i,`program ${this.label} is built already`);let{dispatch:n,paramsOffsetBytes:s}=this.#e[e],i={...n,overrides:r,grid:o};this.#e[e]={dispatch:i,kernel:this.#a(i),paramsOffsetBytes:s}}get length(){return this.#e.length}get bytes(){return this.#e.reduce((e,{dispatch:r})=>e+Om(r),0)}run(){let e=this.#r.device.createCommandEncoder({label:this.label});this.encode(e),this.#r.device.queue.submit([e.finish()])}runInParts(e){let r=0;for(let{label:o,end:n}of[...this.#t,{label:"",end:this.#e.length}]){let s=this.#r.device.createCommandEncoder({label:`${this.label}: ${o}`});this.encode(s,{start:r,end:n}),e(o,s),this.#r.device.queue.submit([s.finish()]),r=n}}encode(e,{start:r=0,end:o=this.#e.length}={}){let{bindGroups:n}=this.#u(),s=e.beginComputePass({label:this.label});for(let i=r;i<o;i++)fv(s,this.#e[i],n[i]);s.end()}async profile(){let{device:e}=this.#r,r=[];await this.#r.finish();for(let[o,{dispatch:n,kernel:s}]of this.#e.entries()){let i=e.createCommandEncoder();this.encode(i,{start:o,end:o+1});let a=i.finish(),u=await this.#r.timeS(()=>e.queue.submit([a]));r.push({label:n.label??s.name,calls:1,seconds:u,flops:n.flops??0,bytes:Om(n)})}return this.#r.check(),r}#a(e){let r=this.registry.get(e.kernel,e.overrides,mv(e));return hv(r,e),r}#u(){if(this.#i)return this.#i;let{device:e}=this.#r,r=new ArrayBuffer(Math.max(la,this.#o));for(let n of this.#e)pv(new DataView(r,n.paramsOffsetBytes),n);let o=e.createBuffer({label:`${this.label} params`,size:r.byteLength,usage:GPUBufferUsage.UNIFORM|GPUBufferUsage.COPY_DST});return e.queue.writeBuffer(o,0,r),this.#i={uniforms:o,bindGroups:this.#e.map(n=>dv(e,n,o))},this.#i}};function fv(t,{kernel:e,dispatch:r},o){let[n,s=1,i=1]=r.grid;t.setPipeline(e.pipeline),t.setBindGroup(0,o),t.dispatchWorkgroups(n,s,i)}function dv(t,e,r){let{kernel:o,dispatch:n}=e;return t.createBindGroup({label:n.label??o.name,layout:o.layout,entries:o.interface.bindings.map(({name:s,index:i,access:a})=>{if(a==="uniform"){let c=Math.ceil(o.interface.params.length*4/16)*16;return{binding:i,resource:{buffer:r,offset:e.paramsOffsetBytes,size:c}}}let u=n.bindings[s];return{binding:i,resource:{buffer:u.buffer,offset:u.offsetBytes}}})})}function Om({bindings:t}){let e=Object.values(t),r=({buffer:o,offsetBytes:n},s)=>e.findIndex(i=>i.buffer===o&&i.offsetBytes===n)===s;return e.filter(r).reduce((o,n)=>o+He(n),0)}function pv(t,{kernel:e,dispatch:r}){e.interface.params.forEach(({name:o,type:n},s)=>{let i=r.params?.[o]??0;n==="f32"?t.setFloat32(s*4,i,!0):n==="u32"?t.setUint32(s*4,i,!0):t.setInt32(s*4,i,!0)})}function mv({bindings:t}){return Object.entries(t).flatMap(([e,{dtype:r}])=>r==="f16"?[e]:[])}function hv(t,e){let r=t.interface.bindings.filter(({access:o})=>o!=="uniform").map(({name:o})=>o);Pm(t,"binding",r,Object.keys(e.bindings)),Pm(t,"parameter",t.interface.params.map(({name:o})=>o),Object.keys(e.params??{}));for(let o of e.grid)if(o!==void 0&&!(o>=1&&o<=fa&&Number.isInteger(o)))throw new N(t.name,`the grid [${e.grid}] is not of 1 to ${fa} workgroups`)}function Pm(t,e,r,o){let n=r.find(i=>!o.includes(i));if(n)throw new N(t.name,`${e} ${n} is missing`);let s=o.find(i=>!r.includes(i));if(s)throw new N(t.name,`${e} ${s} is unknown; known are ${r.join(", ")}`)}function j(t,e,r){for(let[o,n]of Object.entries(e))if(!(n>0&&n%r===0))throw new N(t,`${o} is ${n}, a positive multiple of ${r} was wanted`)}function S(t,e,r){if(!(e>0&&Number.isInteger(e)))throw new N(t,`${e} elements were asked for, at least one was wanted`);for(let[o,n]of Object.entries(r))if(Te(n)<e)throw new N(t,`${o} (tensor ${n.label}) has the shape [${n.shape}], ${e} elements were wanted`)}var gv=4;function It(t,e){let{tokens:r,table:o,x:n,rows:s,width:i}=e,a="embedding_forward";j(a,{width:i},4),S(a,s,{tokens:r}),S(a,s*i,{x:n}),t.add({kernel:a,bindings:{tokens:r,table:o,x:n},params:{rows:s,width:i},grid:X(s)})}function co(t,e){return e+1+t}function Ln(t,e,{perRow:r=1,numUses:o=t.length}={}){let n=new Uint32Array(co(o,e));for(let i=0;i<t.length;i++)t[i]<e&&n[t[i]+1]++;let s=n[0]=e+1;for(let i=0;i<e;i++){let a=n[i+1];n[i+1]=s,s+=a}for(let i=0;i<t.length;i++)t[i]<e&&(n[n[t[i]+1]++]=Math.floor(i/r));return n}function Rm(t,e){let{tokenRows:r,dx:o,dTable:n,rows:s,width:i,vocabSize:a,numUses:u=s}=e,c="embedding_backward";j(c,{width:i},4),S(c,co(u,a),{tokenRows:r}),S(c,s*i,{dx:o}),S(c,a*i,{dTable:n}),t.add({kernel:c,bindings:{token_rows:r,dx:o,d_table:n},params:{width:i},grid:[a,Math.ceil(i/(4*gv*t.registry.lanes))]})}var Q=9,ht=class{config;#e;#t;#r;coordinates;constructor(e){this.config=e;let{prefixVectors:r,pairVectors:o,coordinates:n}=e;n&&(this.coordinates=new _n(n));let s=r?.rows??0;r&&(this.#e=new zt(0,s)),o&&(this.#t=new zt(s,o.rows),o.history&&(this.#r=new cn(o.rows)))}load(e){this.#e?.load(L(e,Ee)),this.#t?.load(L(e,Ee)),this.#r?.load(L(e,or)),this.coordinates?.load(e)}save(e){let r=new Float32Array(2*((this.#e?.numRows??0)+(this.#t?.numRows??0)));this.#e?.save(r),this.#t?.save(r),r.length>0&&e.set(Ee,r),this.#r&&e.set(or,this.#r.save()),this.coordinates?.save(e)}claim(e,r){for(let o of[e,r])this.rowsOfPrefixes(o,{claims:!0});return this.rowOfPair(e,r,{claims:!0})}remember(e,r){this.#t&&e!==z&&this.#r?.add(e-this.#t.firstRow,r)}selectedRow(e){return(this.#e?.numRows??0)+(this.#t?.numRows??0)+e}get numPrefixes(){return this.#e?.numOwned??0}get numPairs(){return this.#t?.numOwned??0}rowsOfPrefixes(e,{claims:r=!1}={}){let o=[];return this.#n(e,({hash1:n,hash2:s})=>{o.push(this.#e?.row(n,s,r)??z)}),o}rowOfAddress(e,{claims:r=!1}={}){let{hash1:o,hash2:n}=this.#n(e);return this.#e?.row(o,n,r)??z}claimNode(e){return this.nodeOf(e,{claims:!0})}nodeOf(e,{claims:r=!1}={}){let{hash1:o,hash2:n}=this.#n(e);return this.coordinates?.node(o,n,r)??z}rowOfPair(e,r,{claims:o=!1}={}){let{hash1:n,hash2:s}=this.#o(this.#n(e),this.#n(r));return this.#t?.row(n,s,o)??z}prefixRow(e,{isTraining:r,context:o}){let{prefixVectors:n}=this.config;if(!this.#e||!n)return z;let s=1-(1-n.dropShare)**(1/e.length);return r&&wn(e.hash2,o,s)&&(e.isDropped=!0),e.isDropped?z:this.#e.row(e.hash1,e.hash2)}pairOf(e,r,{isTraining:o,context:n}){let{hash1:s,hash2:i}=this.#o(e,r),a=this.config.pairVectors?.dropShare??0,[u,c]=[s,i].map(d=>o&&wn(d,n,a)),f=e.isDropped||r.isDropped||u||c?z:this.#t?.row(s,i)??z;return{hash1:s,hash2:i,source:e,destination:r,row:f,isUnknown:u}}recallOf({hash1:e,row:r,isUnknown:o},{recall:n,recent:s},i){if(!this.#t||!this.#r)return;if(n!==void 0)return o?void 0:n??void 0;let{timeS:a}=i,u=s??i.rttsOf(e);return s||r===z?xp(u,a):this.#r.recall(r-this.#t.firstRow,{timeS:a,newer:u})}estimateOf({hash1:e,source:r,destination:o},{isTraining:n,context:s}){let{coordinates:i}=this;if(!i)return;let a=[r,o],[u,c]=a.map(({hash1:d,hash2:p})=>i.node(d,p));if(!n)return i.estimate(u,c);let l=wn(~e,s,i.config.dropShare),f=a.map(({isDropped:d},p)=>d||l&&(e&1)===p);return i.estimate(u,c,{isTraining:n,hidden:f})}begin(e){return Zp(this.config.prefixVectors?.seed??this.config.pairVectors?.seed??0,e)}#o(e,r){let{prefixVectors:o,pairVectors:n}=this.config,s=o&&n?n.seed-o.seed:0;return qp(e,r,s)}#n(e,r=()=>{}){let o=this.begin(e.length===4?4:16);for(let n of e)gn(o,n),r(o);return o}};var wv={isTraining:!1,context:0},_v=3,gt=class t{#e;#t;#r;#o;#n;#s=!1;#i;#a=new ln;constructor(e){this.#e=e}clone(){let e=new t(this.#e);return e.#o=this.#o&&{...this.#o},e.#t=this.#t===this.#o?e.#o:this.#t,e.#r=this.#r===this.#o?e.#o:this.#r,e.#n=this.#n,e.#s=this.#s,e.#i=this.#i,e.#a=this.#a.clone(),e}read(e,r,o,n=wv){r.fill(z,o,o+Q);let s=e>=11&&e<267;if(n.recall===void 0&&this.#a.read(e),s&&this.#s&&(this.#f(r,o),this.#i&&this.#l(r,o,Jp(this.#i,e-11))),this.#s=e===8,s){this.#o&&(r[o]=this.#c(this.#o,e-11,n));return}switch(this.#o=void 0,e){case 0:this.#a.end(this.#n?.hash1),this.#t=this.#r=this.#n=void 0;break;case 1:case 2:this.#o=this.#t=this.#u(e===1?4:16);break;case 3:case 4:this.#o=this.#r=this.#u(e===3?4:16);break;case 8:this.#i=this.#n&&(this.#e.recallOf(this.#n,n,this.#a)??this.#e.estimateOf(this.#n,n)),this.#f(r,o),this.#i&&this.#l(r,o,Yp(this.#i))}}#u(e){return this.#n=void 0,this.#e.begin(e)}#c(e,r,o){gn(e,r);let n=this.#e.prefixRow(e,o);n!==z&&(e.row=n),e.isWhole&&(this.#o=void 0);let[s,i]=[this.#t,this.#r];return s?.isWhole&&i?.isWhole&&(this.#n=this.#e.pairOf(s,i,o)),n}#l(e,r,o){o.forEach((n,s)=>e[r+_v+s]=this.#e.selectedRow(n))}#f(e,r){let[o,n]=[this.#t,this.#r];e[r+2]=this.#n?.row??z,!(e[r+2]!==z||this.#i&&!xv(this.#i))&&(o?.isWhole&&(e[r]=o.row),n?.isWhole&&(e[r+1]=n.row))}};function xv(t){return"isOfBoth"in t&&!t.isOfBoth}function wt(t,{batchSize:e,sequenceLength:r,sequencesPerStep:o=e,freeRows:n}){return n??Math.min(xe(t),o*r)}function pr({batchSize:t,sequenceLength:e}){return t*2*e}function lo({tokens:t,segmentStart:e,recalls:r},o,{sequenceLength:n,isTraining:s}){let i=new Uint32Array(t.length*Q),a=new gt(o),u=0;for(let c=0;c<t.length;c++){c%n===e[c]&&(a=new gt(o),s&&(u=yv(t,e,c,n)));let l=r&&t[c]===8?gp(r,c*an):void 0,f=r||s?l??null:void 0;a.read(t[c],i,c*Q,{isTraining:s,context:u,recall:f})}return i}function yv(t,e,r,o){let n=r-r%o+o,s=0;for(let i=r;i<n&&e[i]===e[r];i++)s=ke(s+t[i]);return s}var Cn=class{numSlots;numUses;isFixed;#e;constructor(e,r,o=!1){this.numSlots=e,this.numUses=r,this.isFixed=o,this.#e=new Map,this.clear()}clear(){if(this.#e.clear(),!!this.isFixed)for(let e=0;e<this.numSlots;e++)this.#e.set(e,e)}get rows(){let e=new Uint32Array(1+this.numSlots);e[0]=this.#e.size;for(let[r,o]of this.#e)e[1+o]=r;return e}get size(){return this.#e.size}claim(e){if(!this.isFixed)for(let r of e)r!==z&&!this.#e.has(r)&&this.#e.set(r,this.#e.size)}places(e){this.claim(e);let r=e.map(o=>o===z?z:this.#e.get(o)??z);return Ln(r,this.numSlots,{perRow:Q,numUses:this.numUses})}};function Mm(t,e,r){return{tokens:Nt(t.tokens,e,r),targets:Nt(t.targets,e,r),lossMask:Nt(t.lossMask,e,r),segmentStart:Nt(t.segmentStart,e,r),...t.recalls?{recalls:Nt(t.recalls,e,r)}:{}}}function Nt(t,e,{rank:r,size:o}){let n=t.length/e,s=t.slice(0,t.length/o);for(let i=r,a=0;i<e;i+=o,a+=n)s.set(t.subarray(i*n,(i+1)*n),a);return s}function Im({tokens:t,lossMask:e,segmentStart:r},o){let n=e.slice();for(let s=t.indexOf(8);s>=0;s=t.indexOf(8,s+1)){let i=s+1;n[s]&&(n[s]=2),n[i]&&i%o!==r[i]&&(n[i]=3)}return n}var bv=64*8*4;function Lt(t){return X(Math.ceil(t/bv))}function Nm(t,e){let{x:r,y:o,length:n}=e,s="copy";j(s,{length:n},4),S(s,n,{x:r,y:o}),t.add({kernel:s,bindings:{x:r,y:o},params:{length:n},grid:Lt(n)})}function Lm(t,e){let{x:r,earlier:o,previous:n,y:s}=e,i="shift_keys_forward";Dm(i,e,{x:r,y:s},n),t.add({kernel:i,bindings:{x:r,earlier:o,previous:n,y:s},...Bm(e)})}function Cm(t,e){let{dy:r,previous:o,dx:n}=e,s="shift_keys_backward";Dm(s,e,{dy:r,dx:n},o),t.add({kernel:s,bindings:{dy:r,previous:o,dx:n},...Bm(e)})}function Dn(t,e){return Uint32Array.from(t,(r,o)=>o%e>r?o-1:o)}function Dm(t,{rows:e,numHeads:r,headDim:o},n,s){j(t,{headDim:o},16),S(t,e,{previous:s}),S(t,e*r*o,n)}function Bm({rows:t,numHeads:e,headDim:r}){let o=e*r/4;return{params:{num_vec4:t*o,row_vec4:o,quarter_vec4:r/16},grid:Lt(t*o*4)}}function Zm(t,e,r){let{batchSize:o,sequenceLength:n,training:s,dtype:i,freeRows:a}=e,u=[o,n],c=xe(t)>0,l=wt(t,e),f=co(pr(e),l),d=co(o*n,q(t));return{tokens:r("tokens",u),targets:r("targets",u),lossMask:r("lossMask",u),segmentStart:r("segmentStart",u),previous:t.keyShift?r("previous",u):void 0,tokenRows:s&&a===void 0?r("token rows",[d]):void 0,addressRows:c?r("rows of tokens",[o,n,Q]):void 0,rowPlaces:c&&s?r("tokens of slots",[f]):void 0,slotRows:c&&s?r("rows of slots",[1+l]):void 0,weight:r("weight",[1]),lossScale:s&&i==="f16"?r("loss scale",[2]):void 0}}function Um(t,e,r){let{extent:o,batch:n,weight:s}=r,i=q(r.config),{batchSize:a,sequenceLength:u}=o,c={...n,lossMask:Im(n,u)};for(let l of["tokens","targets","lossMask","segmentStart"]){let f=new Uint32Array(c[l]);b(f.length===a*u,`${l} has ${f.length} elements`),(l==="tokens"||l==="targets")&&b(f.every(d=>d<i),`${l} has a token that is not below ${i}`),t.write(e[l],f)}if(e.previous&&t.write(e.previous,Dn(n.segmentStart,u)),e.tokenRows&&t.write(e.tokenRows,Ln(n.tokens,i)),e.addressRows&&r.rows){let{ofTokens:l,places:f,ofSlots:d}=r.rows;t.write(e.addressRows,l),e.rowPlaces&&f&&t.write(e.rowPlaces,f),e.slotRows&&d&&t.write(e.slotRows,d)}t.write(e.weight,Float32Array.of(s))}function Ct(t){return Math.ceil(q(t)/4)*4}function da(t,e,r){let o=[],n=(c,l,f)=>{let d=r(c,l,f);return o.push(d),d},s=e.batchSize*e.sequenceLength,i=vv(t,e,n),a=Dt(t,n),{dtype:u}=e;return{parameters:a,operands:Fm(t,{parameters:a,dtype:u},n),gradients:e.training?jm(t,e,fr(n,"d ")):new Map,inputs:Zm(t,e,n),layers:i,head:{xLast:e.training?n("xLast",[s,t.width]):i[0].x,xLastNorm:n("xLastNorm",[s,t.width],u),xLastScale:n("xLastScale",[s]),logits:n("logits",[s,Ct(t)]),losses:n("losses",[s])},backward:e.training?Sv(t,{rows:s,dtype:u},n):void 0,lossSum:n("lossSum",[1]),all:o}}function pa(t){return new Map([...bn(t)].map(([e,[r,o]])=>[e,[e==="lm_head.weight"?Ct(t):r,o]]))}function Dt(t,e){return new Map([...pa(t)].map(([r,o])=>[r,e(r,o)]))}function jm(t,e,r){let o=()=>["wpe.weight",r("wpe.weight",[wt(t,e),t.width])];return e.freeRows!==void 0?new Map([o()]):new Map([...pa(t)].map(([n,s])=>n==="wpe.weight"?o():[n,r(n,s)]))}function Fm(t,{parameters:e,dtype:r},o){if(r!=="f16")return e;let n=new Map(e);for(let[s,i]of pa(t))s!=="wte.weight"&&s!=="wpe.weight"&&n.set(s,o(`${s} in f16`,i,r));return n}function vv(t,e,r){let o=e.batchSize*e.sequenceLength,{training:n,dtype:s}=e,i=qm(t,{rows:o,training:n,dtype:s},fr(r,"layer 0 "));return t.keyShift&&(i.kUnshifted=r("kUnshifted",[o,t.numHeads*t.headDim],s)),Array.from({length:t.numLayers},(a,u)=>{if(u===0||!n)return i;let c=fr(r,`layer ${u} `);return e.checkpointActivations?{...i,x:c("x",[o,t.width])}:{...qm(t,{rows:o,training:n,dtype:s},c),kUnshifted:i.kUnshifted}})}function qm(t,e,r){let o=[e.rows,t.numHeads*t.headDim];return{...ma(t,e,r),kRotated:r("kRotated",o,e.dtype),kUnshifted:void 0,v:r("v",o,e.dtype)}}function ma(t,{rows:e,training:r,dtype:o},n){let{width:s,mlpWidth:i,numHeads:a}=t,u=a*t.headDim;return{x:n("x",[e,s]),xNorm:n("xNorm",[e,s],o),xScale:n("xScale",[e]),q:n("q",[e,u],o),k:n("k",[e,u],o),qScale:n("qScale",[e,a]),kScale:n("kScale",[e,a]),qRotated:n("qRotated",[e,u],o),attention:n("attention",[e,u],o),logSumExp:n("logSumExp",[e,a]),xMiddle:n("xMiddle",[e,s]),xMiddleNorm:n("xMiddleNorm",[e,s],o),xMiddleScale:n("xMiddleScale",[e]),hidden:r?n("hidden",[e,i],o):void 0,activated:n("activated",[e,i],o)}}function Sv(t,{rows:e,dtype:r},o){let{width:n,mlpWidth:s,numHeads:i}=t,a=i*t.headDim;return{dLogits:o("dLogits",[e,Ct(t)],r),dx:o("dx",[e,n]),dNorm:o("dNorm",[e,n],r),dHidden:o("dHidden",[e,s],r),dAttention:o("dAttention",[e,a],r),dqRotated:o("dqRotated",[e,a],r),dkRotated:o("dkRotated",[e,a],r),dkUnshifted:t.keyShift?o("dkUnshifted",[e,a],r):void 0,dq:o("dq",[e,a],r),dk:o("dk",[e,a],r),dv:o("dv",[e,a],r),delta:o("delta",[e,i])}}var Hm=[32,64,128],ga={subgroup8:1024,tiled:2048};function Km(t,e){let{q:r,k:o,v:n,segmentStart:s,out:i,logSumExp:a}=e,u=fo(t.registry.gpu.info);Wm(`attention_forward_${u}`,e,{q:r,k:o,v:n,out:i},{logSumExp:a},s),t.add({kernel:`attention_forward_${u}`,bindings:{q:r,k:o,v:n,segment_start:s,out:i,log_sum_exp:a},...ha(e,u)})}function Gm(t,e){let{q:r,k:o,v:n,out:s,dOut:i,logSumExp:a,segmentStart:u,dq:c,dk:l,dv:f,delta:d}=e,p=fo(t.registry.gpu.info);Wm(`attention_backward_query_${p}`,e,{q:r,k:o,v:n,out:s,dOut:i,dq:c,dk:l,dv:f},{logSumExp:a,delta:d},u);let m={q:r,k:o,v:n,d_out:i,log_sum_exp:a,segment_start:u,delta:d};t.add({kernel:`attention_backward_query_${p}`,bindings:{...m,out:s,dq:c},...ha(e,p)}),t.add({kernel:`attention_backward_key_${p}`,bindings:{...m,dk:l,dv:f},...ha(e,p)})}function fo(t){return t.subgroupSize===8?"subgroup8":"tiled"}function wa(t,e){if(!Hm.includes(e))throw new N(t,`headDim is ${e}, one of ${Hm.join(", ")} was wanted`)}function ha({batchSize:t,sequenceLength:e,numHeads:r,headDim:o},n){let s={sequence_length:e,num_heads:r};return{overrides:{HEAD_DIM:o},params:n==="subgroup8"?{...s,slot_parts:32}:{...s,slice_parts:8,tile_rows:512/o},grid:[Math.ceil(e*o/ga[n]),r,t]}}function Wm(t,{batchSize:e,sequenceLength:r,numHeads:o,headDim:n},s,i,a){wa(t,n);let u=e*r;S(t,u,{segmentStart:a}),S(t,u*o,i),S(t,u*o*n,s)}var po=8;function Vm(t){let{learningRate:e,beta1:r,beta2:o,epsilon:n,weightDecay:s,step:i}=t;return Float32Array.of(e,r,o,n,s,1-r**i,1-o**i,0)}function Ym(t,e){let{parameter:r,gradient:o,expAvg:n,expAvgSq:s,hyper:i,clip:a,length:u}=e,c="adamw";j(c,{length:u},4),S(c,u,{parameter:r,gradient:o,expAvg:n,expAvgSq:s}),S(c,po,{hyper:i}),S(c,1,{clip:a}),t.add({kernel:c,bindings:{gradient:o,hyper:i,clip:a,parameter:r,exp_avg:n,exp_avg_sq:s},params:{length:u},grid:Lt(u)})}function Jm(t,e){let{indexes:r,table:o,x:n,rows:s,rowsPerToken:i,tableRows:a,width:u}=e,c="add_rows";j(c,{width:u},4),S(c,s*i,{indexes:r}),S(c,a*u,{table:o}),S(c,s*u,{x:n}),t.add({kernel:c,overrides:{ROWS_PER_TOKEN:i},bindings:{indexes:r,table:o,x:n},params:{rows:s,width:u,table_rows:a},grid:X(s)})}function Xm(t,e){let{slotRows:r,gradient:o,parameter:n,expAvg:s,expAvgSq:i,numUpdates:a,hyper:u,clip:c,slots:l,width:f}=e,d="adamw_rows";j(d,{width:f},4),S(d,1+l,{slotRows:r}),S(d,l*f,{gradient:o}),S(d,a.shape[0]*f,{parameter:n,expAvg:s,expAvgSq:i}),S(d,po,{hyper:u}),S(d,1,{clip:c}),t.add({kernel:d,bindings:{slot_rows:r,gradient:o,hyper:u,clip:c,parameter:n,exp_avg:s,exp_avg_sq:i,num_updates:a},params:{width:f,slots:l},grid:X(l)})}function Qm(t,e){let{table:r,anchors:o,limits:n,rows:s,width:i}=e,a="limit_rows";j(a,{width:i},4),S(a,s*i,{table:r,anchors:o}),S(a,s,{limits:n}),t.add({kernel:a,bindings:{anchors:o,limits:n,table:r},params:{rows:s,width:i},grid:X(s)})}var kv={relu2:0,gelu:1,silu:2},th={kernel:"gemm_subgroup8",overrides:{},tile:32},Bn={kernel:"gemm_tiled",overrides:{TILE:64},tile:64},rh={kernel:"gemm_tiled",overrides:{TILE:128},tile:128},Ev=256,eh=16,oh=0;function Av(t){return[...t.subgroupSize===8?[th]:[],Bn,rh]}function _a(t,e){return t.subgroupSize===8?th:!t.isSoftware&&e.m*e.n>=Ev*128*128?rh:Bn}function Tv(t,e){let r=_a(t,e),o=Av(t).filter(n=>n!==r&&n.kernel===r.kernel);return[r,...o]}var zv={enoughWorkgroups:256,minSplitK:512,maxSplits:16};function $v(t,e){let{kernel:r}=_a(t,e);return t.isSoftware||r!=="gemm_tiled"||e.kind!=="TN"?1:Ov(e)}function Ov({m:t,n:e,k:r},{enoughWorkgroups:o,minSplitK:n,maxSplits:s}=zv){let i=Math.ceil(t/Bn.tile)*Math.ceil(e/Bn.tile);return Math.max(1,Math.min(Math.floor(o/i),Math.floor(r/n),s))}function mo(t,e){let{kind:r,m:o,n,k:s,batch:i=1,a,b:u,c,epilogue:l="store",symmetric:f=!1}=e,{info:d}=t.registry.gpu,p=f?[_a(d,e)]:Tv(d,e),m=e.variant?[e.variant]:p,{kernel:h}=m[0];if(j(h,r==="TN"?{m:o,n}:{n,k:s},4),f&&o!==n)throw new N(h,`a product of ${o} x ${n} cannot be symmetric`);S(h,i*o*s,{a}),S(h,i*s*n,{b:u}),S(h,i*o*n,{c});let{code:g,read:_,written:x,activation:O}=Rv(l);for(let ce of[_,x])if(ce&&(S(h,i*o*n,{[ce.label]:ce}),ce.buffer===c.buffer))throw new N(h,`${ce.label} is in the buffer of c; to add to c use "accumulate"`);let I=typeof l=="string"&&i===1,E=e.splits??(I&&!e.variant?$v(d,e):1),R=Math.ceil(s/E/eh)*eh;if(E>1&&!(I&&h==="gemm_tiled"&&R*(E-1)<s))throw new N(h,`it cannot divide k into ${E} splits here`);let Y=E>1?t.scratch(E*o*n):c,Ue=e.label??`gemm ${r}`,nt=Pv(m,{kind:r,m:o,n,depth:i*E,activation:O}),[{overrides:st,grid:xt}]=nt,F=[a,u,c].map(ce=>He(ce)/Te(ce)),qe=`${r} ${o} x ${n} x ${s}, batch ${i}, splits ${E}, of ${F} bytes`;t.add({kernel:h,label:Ue,overrides:st,bindings:{a,b:u,d:_??{...a,dtype:c.dtype},c:Y,e:x??{...t.registry.unusedOutput,dtype:c.dtype}},params:{m:o,n,k:s,epilogue:E>1?oh:g,stride_a:o*s/4,stride_b:s*n/4,stride_c:o*n/4,symmetric:Number(f),...h==="gemm_tiled"?{splits:E,split_k:R}:{}},grid:xt,flops:i*(f?o+1:2*o)*n*s,...nt.length>1?{tuning:{key:qe,launches:nt}}:{}}),E!==1&&t.add({kernel:"sum_splits",label:`${Ue}, sum of splits`,bindings:{partials:Y,c},params:{length:o*n,splits:E,accumulate:+(l==="accumulate")},grid:Lt(o*n)})}function Pv(t,e){let{kind:r,m:o,n,depth:s,activation:i}=e;return t.map(({overrides:a,tile:u})=>({name:`tile ${u}`,overrides:{...a,TRANSPOSE_A:+(r==="TN"),TRANSPOSE_B:+(r==="NT"),ACTIVATION:i},grid:[Math.ceil(n/u),Math.ceil(o/u),s]}))}function Rv(t){if(t==="store")return{code:oh,activation:0};if(t==="accumulate")return{code:1,activation:0};if("add"in t)return{code:2,read:t.add,activation:0};if("gram"in t)return{code:6,read:t.gram,activation:0};let e=kv[t.activation];return"slopeAt"in t?{code:5,read:t.slopeAt,activation:e}:t.before?{code:4,written:t.before,activation:e}:{code:3,activation:e}}var Mv=64,Iv=1e4,nh=new WeakMap;function xa(t,e){let{x:r,y:o,scale:n,rotation:s=Zn(t,e)}=e,i="qk_norm_rope_forward";sh(i,e,{x:r,y:o},n),S(i,e.sequenceLength*e.headDim,{rotation:s}),t.add({kernel:i,bindings:{x:r,rotation:s,y:o,scale:n},...ih(e)})}function ya(t,e){let{x:r,scale:o,dy:n,dx:s}=e,i="qk_norm_rope_backward";sh(i,e,{x:r,dy:n,dx:s},o);let a=Zn(t,e);t.add({kernel:i,bindings:{x:r,scale:o,rotation:a,dy:n,dx:s},...ih(e)})}function sh(t,{rows:e,numHeads:r,headDim:o,sequenceLength:n},s,i){j(t,{headDim:o},8),j(t,{sequenceLength:n},1),S(t,e*r,{scale:i}),S(t,e*r*o,s)}function ih({rows:t,numHeads:e,headDim:r,sequenceLength:o,norm:n}){return{overrides:{NORM:Number(n)},params:{num_heads_total:t*e,num_heads:e,head_dim:r,sequence_length:o},grid:X(Math.ceil(t*e/Mv))}}function Zn(t,{headDim:e,sequenceLength:r}){let{registry:o}=t,n=nh.get(o)??new Map;nh.set(o,n);let s=`${r} x ${e}`,i=n.get(s);if(!i){let a=Nv(r,e);i=o.gpu.tensorFrom(`rotations ${s}`,[r,e/8,2,4],a),n.set(s,i)}return i}function Nv(t,e){let r=new Float32Array(t*e);for(let o=0;o<t;o++)for(let n=0;n<e/2;n++){let s=o*Iv**(-n/(e/2)),i=o*e+Math.floor(n/4)*8+n%4;r[i]=Math.cos(s),r[i+4]=Math.sin(s)}return r}var Lv=4;function Un(t,e){let{x:r,y:o,scale:n,rows:s,width:i}=e,a="rms_norm_forward";j(a,{width:i},4),S(a,s*i,{x:r,y:o}),S(a,s,{scale:n}),t.add({kernel:a,bindings:{x:r,y:o,scale:n},params:{rows:s,width:i},grid:X(s)})}function ah(t,e){let{x:r,scale:o,dy:n,dx:s,rows:i,width:a,accumulate:u}=e,c="rms_norm_backward";j(c,{width:a},4),S(c,i*a,{x:r,dy:n,dx:s}),S(c,i,{scale:o}),t.add({kernel:c,bindings:{x:r,scale:o,dy:n,dx:s},params:{rows:i,width:a,accumulate:Number(u)},grid:X(Math.ceil(i/Lv))})}function Bt(t,{extent:e,tensors:r},{name:o,label:n,...s}){let{x:i,y:a,epilogue:u="store"}=s,c=L(r.operands,o),[l,f]=c.shape,d=e.batchSize*e.sequenceLength;mo(t,{kind:"NT",m:d,n:l,k:f,a:i,b:c,c:a,epilogue:u,label:n})}function uh(t,{parameters:e,operands:r}){for(let[o,n]of e){let s=L(r,o);s!==n&&Nm(t,{x:n,y:s,length:Te(n)})}}function mr(t,e){let{config:r,extent:o,tensors:n,wanted:s}=e,{layers:i,head:a,inputs:u,operands:c}=n,l=o.batchSize*o.sequenceLength,f=r.width,d=L(c,"wte.weight");It(t,{tokens:u.tokens,table:d,x:i[0].x,rows:l,width:f}),u.addressRows&&Jm(t,{indexes:u.addressRows,table:L(c,"wpe.weight"),x:i[0].x,rows:l,rowsPerToken:Q,tableRows:xe(r),width:f});for(let m=0;m<r.numLayers;m++){let h=m===r.numLayers-1;lh(t,e,m);let g=s&&h?Cv(t,e,s):e;fh(t,g,m),ph(t,g,m),Dv(t,g,{layer:m,out:h?a.xLast:i[m+1].x})}let p=s?.rows??l;Un(t,{x:a.xLast,y:a.xLastNorm,scale:a.xLastScale,rows:p,width:f})}function Cv(t,e,r){let{config:o,tensors:n,rotation:s}=e,{rows:i,index:a}=r,u=n.layers[o.numLayers-1];if(!s)throw new Error("Internal error: wanted rows need a pass with a rotation");let c=(f,d,p)=>It(t,{tokens:a,table:f,x:d,rows:i,width:p});c(u.x,r.x,o.width),c(u.xNorm,r.xNorm,o.width),c(s,r.rotation,o.headDim);let l=n.layers.with(-1,{...u,x:r.x,xNorm:r.xNorm});return{config:o,extent:{batchSize:1,sequenceLength:i,training:!1},tensors:{...n,layers:l},rotation:r.rotation,addAttention:r.addAttention}}function ba(t,e){let{numHeads:r,headDim:o}=t;return{batchSize:e.batchSize,sequenceLength:e.sequenceLength,numHeads:r,headDim:o}}function qn(t,e){let{numHeads:r,headDim:o,qkNorm:n}=t;return{rows:e.batchSize*e.sequenceLength,numHeads:r,headDim:o,sequenceLength:e.sequenceLength,norm:n}}function ch(t,e,r){lh(t,e,r),fh(t,e,r),ph(t,e,r)}function lh(t,e,r){let{config:o,extent:n,tensors:s,rotation:i}=e,a=s.layers[r],u=n.batchSize*n.sequenceLength;Un(t,{x:a.x,y:a.xNorm,scale:a.xScale,rows:u,width:o.width});for(let f of["k","v"])dh(t,e,{layer:r,part:f});let c={...qn(o,n),...i?{rotation:i}:{}},{kUnshifted:l=a.kRotated}=a;xa(t,{x:a.k,y:l,scale:a.kScale,...c}),a.kUnshifted&&s.inputs.previous&&Lm(t,{x:a.kUnshifted,earlier:e.earlierKeys?.(r)??a.kUnshifted,previous:s.inputs.previous,y:a.kRotated,rows:u,numHeads:o.numHeads,headDim:o.headDim})}function fh(t,e,r){let{config:o,extent:n,tensors:s,rotation:i}=e,a=s.layers[r];dh(t,e,{layer:r,part:"q"});let u={...qn(o,n),...i?{rotation:i}:{}};xa(t,{x:a.q,y:a.qRotated,scale:a.qScale,...u}),e.addAttention?e.addAttention(t,r):Km(t,{q:a.qRotated,k:a.kRotated,v:a.v,segmentStart:s.inputs.segmentStart,out:a.attention,logSumExp:a.logSumExp,...ba(o,n)}),Bt(t,e,{name:`blocks.${r}.attn.o_proj.weight`,x:a.attention,y:a.xMiddle,epilogue:{add:a.x},label:"o_proj"})}function dh(t,e,{layer:r,part:o}){let{xNorm:n,[o]:s}=e.tensors.layers[r],i=`blocks.${r}.attn.${o}_proj.weight`;Bt(t,e,{name:i,x:n,y:s,label:"qkv_proj"})}function ph(t,e,r){let{config:{width:o,activation:n},extent:s,tensors:i}=e,{xMiddle:a,xMiddleNorm:u,xMiddleScale:c,hidden:l,activated:f}=i.layers[r],d=s.batchSize*s.sequenceLength;Un(t,{x:a,y:u,scale:c,rows:d,width:o}),Bt(t,e,{name:`blocks.${r}.mlp.up_proj.weight`,x:u,y:f,epilogue:{activation:n,...l?{before:l}:{}},label:"up_proj"})}function Dv(t,e,{layer:r,out:o}){let{xMiddle:n,activated:s}=e.tensors.layers[r],i=`blocks.${r}.mlp.down_proj.weight`;Bt(t,e,{name:i,x:s,y:o,epilogue:{add:n},label:"down_proj"})}function mh(t,e){return ga[fo(t)]/e}function hh(t,e){return t.flatMap(r=>{let o=[];for(let n=r.firstRow;n<r.endRow;n+=e)o.push({...r,firstRow:n,endRow:Math.min(n+e,r.endRow)});return o})}function gh(t,e){let{q:r,promptK:o,promptV:n,suffixK:s,suffixV:i,suffixRows:a,tiles:u,out:c}=e,{numRows:l,numSteps:f,numHeads:d,headDim:p,numTiles:m}=e,h=fo(t.registry.gpu.info),g=`attention_decode_${h}`;wa(g,p);let _=d*p;S(g,_,{promptK:o,promptV:n,suffixK:s,suffixV:i}),S(g,l*_,{q:r,out:c}),f>0&&S(g,f*l,{suffixRows:a}),S(g,m*4,{tiles:u});let x={num_rows:l,num_heads:d,num_steps:f};t.add({kernel:g,overrides:{HEAD_DIM:p},bindings:{q:r,k:o,v:n,suffix_k:s,suffix_v:i,suffix_rows:a,tiles:u,out:c},params:h==="subgroup8"?{...x,slot_parts:32}:{...x,slice_parts:8,tile_rows:512/p},grid:[m,d]})}var Bv=32;function _t(t){let e=Math.max(Bv,2**(Math.floor(Math.log2(Math.max(1,t)))-3));return Math.ceil(t/e)*e}function va(t,e){return uo(r=>jn(t,e,r))-uo(r=>Dt(t,r))}function Sa(t,e,r){return va(t,e)<=r.limitBytes&&dr(o=>jn(t,e,o))<=r.bufferBytes}function jn(t,e,r){let{width:o,numHeads:n,headDim:s}=t,i=_t(e.maxRows),a=_t(e.maxPromptTokens),u=Math.max(i,a),c=ma(t,{rows:u,training:!1},r),l=Array.from({length:t.numLayers},(f,d)=>fr(r,`layer ${d} `));return{parameters:Dt(t,r),inputs:{tokens:r("tokens",[u]),segmentStart:r("segmentStart",[a]),previous:t.keyShift?r("previous",[u]):void 0,addressRows:xe(t)>0?r("rows of tokens",[u,Q]):void 0},positions:r("positions",[u]),rotation:r("rotation",[u,s]),chosenRotation:r("chosen rotation",[u,s]),tiles:r("tiles",[i,4]),suffixRows:r("suffixRows",[e.maxSteps,i]),promptLayers:l.map(f=>({...c,kUnshifted:t.keyShift?f("prompt k unshifted",[a,n,s]):void 0,kRotated:f("prompt k",[a,n,s]),v:f("prompt v",[a,n,s])})),suffixes:l.map(f=>({k:f("suffix k",[e.maxSteps,i,n,s]),kUnshifted:t.keyShift?f("suffix k unshifted",[e.maxSteps,i,n,s]):void 0,v:f("suffix v",[e.maxSteps,i,n,s])})),head:{xLast:c.x,xLastNorm:r("xLastNorm",[u,o]),xLastScale:r("xLastScale",[u])},chosen:{positions:r("chosen positions",[u]),picked:r("chosen hidden states",[u,o]),logits:r("chosen logits",[u,Ct(t)]),rowIndex:r("rows",[u]),logProbabilities:r("log-probabilities",[u,q(t)])}}}function wh(t,e){let{tensors:r,numWanted:o}=e,n=xh(t,e,r.promptLayers),s=o===void 0?{}:{wanted:Zv(e,o)};mr(t,{...n,...s})}function _h(t,e){let{config:r,tensors:o,rows:n,step:s,numTiles:i}=e,{promptLayers:a,suffixes:u,suffixRows:c}=o,{numHeads:l,headDim:f}=r,d=s*c.shape[1]*l*f*4,p=h=>({...h,shape:[n,l,f],offsetBytes:d}),m=a.map((h,g)=>({...h,kRotated:p(u[g].k),kUnshifted:u[g].kUnshifted&&p(u[g].kUnshifted),v:p(u[g].v)}));mr(t,{...xh(t,e,m),earlierKeys:h=>{let g=(s===0?a:u)[h].kUnshifted;return b(g,"a model without keyShift has no keys before their shift"),g},addAttention:(h,g)=>yh(h,e,{layer:g,numRows:n,numTiles:i,numSteps:s+1})})}function xh(t,{config:e,tensors:r,rows:o},n){let{parameters:s,inputs:i,head:a,positions:u,rotation:c}=r,l=Zn(t,e);return It(t,{tokens:u,table:l,x:c,rows:o,width:e.headDim}),{config:e,extent:{batchSize:1,sequenceLength:o,training:!1},tensors:{operands:s,inputs:i,head:a,layers:n},rotation:c}}function Zv(t,e){let{promptLayers:r,chosen:o,chosenRotation:n}=t.tensors,s=r.length-1;return{rows:e,index:o.positions,x:o.picked,xNorm:r[s].xMiddleNorm,rotation:n,addAttention:i=>yh(i,t,{layer:s,numRows:e,numTiles:e,numSteps:0})}}function yh(t,{config:e,tensors:r},{layer:o,...n}){let{promptLayers:s,suffixes:i,suffixRows:a,tiles:u}=r,{qRotated:c,kRotated:l,v:f,attention:d}=s[o];gh(t,{q:c,promptK:l,promptV:f,out:d,suffixK:i[o].k,suffixV:i[o].v,suffixRows:a,tiles:u,numHeads:e.numHeads,headDim:e.headDim,...n})}var Uv=8192,qv=1024;function jv(t){return zm(yn(t)).maxMeasurementTokens-1}function ka(t,e){for(let r=Uv;;r/=2){let o={maxPromptTokens:Math.max(r,t.sequenceLength),maxRows:Math.max(r,W.length),maxSteps:1};if(r<W.length||Sa(t,o,e))return o}}var Fv=8;function bh(t,e){for(let r=qv;;r/=2){let n={maxPromptTokens:Math.max(t.sequenceLength,Fv*r),maxRows:r,maxSteps:jv(t)};if(r<=32||Sa(t,n,e))return n}}function*Fn(t,{maxPromptTokens:e,maxRows:r},o){let n=[],s=0;for(let i of t)(s+i.length>e||(n.length+1)*o>r)&&n.length>0&&(yield n,n=[],s=0),n.push(i),s+=i.length;n.length>0&&(yield n)}function vh(t,{probabilities:e,maxCodes:r}){let o=e.reduce((u,c)=>u+c,0);if(b(o>0&&t.length===e.length,"a range of RTTs has codes with mass"),t.length<=r)return{codes:t,weights:e.map(u=>u/o),strata:void 0};let n=[],s=[],i=[],a=0;for(let u=0,c=0;c<r;c++){let l=(c+.5)*o/r;for(;u<t.length-1&&a+e[u]<l;)a+=e[u++];n.at(-1)!==t[u]&&(n.push(t[u]),s.push(0)),s[s.length-1]++,i.push(n.length-1)}return{codes:n,weights:Float64Array.from(s,u=>u/r),strata:i}}function Sh({weights:t,strata:e},r){if(!e)return 0;let o=s=>r[e[s]]/t[e[s]],n=0;for(let s=0;s+1<e.length;s+=2)n+=(o(s)-o(s+1))**2;return Math.sqrt(n)/e.length}var Hn=class{#e=[];#t;constructor(e){this.#t=e}get first(){return this.#e[0]}add(e){let r=this.#e,o=r.push(e)-1;for(;o>0;){let n=o-1>>1;if(!this.#t(e,r[n]))break;r[o]=r[n],o=n}r[o]=e}removeFirst(){let e=this.#e.pop();e===void 0||this.#e.length===0||(this.#e[0]=e,this.sinkFirst())}sinkFirst(){let e=this.#e,r=e[0],o=0;for(let n=1;n<e.length&&(n+1<e.length&&this.#t(e[n+1],e[n])&&n++,!!this.#t(e[n],r));n=2*o+1)e[o]=e[n],o=n;e[o]=r}};var rt=256,Hv=2**31;function Gn({numComponents:t,top:e}){let r=rt*(8*t+8+1)+1024,o=8*t+256;return Math.max(1,Math.floor((Hv-e*o)/r))}var hr=class{#e;#t;#r=new Hn((e,r)=>Ea(e)>Ea(r));#o=[];#n;#s=new Set;#i=0;constructor(e,{prefixLength:r,top:o}){this.#e=r,this.#t=o;let n={bytes:[],joint:e};r>0?this.#n=n:this.#o.push({...n,mass:Kn(e)})}get found(){return this.#o}get numExpanded(){return this.#i}get unfoundAtMost(){let e=[...this.#s,...this.#n?[this.#n]:[]].map(({joint:o})=>Kn(o)),r=Math.max(0,this.#a,...e);return this.#o.length<this.#t?r:Math.max(r,this.#c)}get isProven(){return this.#n===void 0&&this.#s.size===0&&this.#a<=this.#c}take(e){let r=[];for(this.#n&&e>0&&(r.push(this.#n),this.#n=void 0);r.length<e&&this.#a>this.#c;)r.push(this.#u());for(let o of r)this.#s.add(o);return r}expand(e,r){b(this.#s.delete(e),"a node is expanded that was not taken"),this.#i++;let o=this.#e-8*e.bytes.length;if(o<=8){this.#l(e,r,o);return}let n=Kv(e,r),s=Uint8Array.from({length:rt},(u,c)=>c);s.sort((u,c)=>n[c]-n[u]||u-c);let i={node:e,probabilities:r,masses:n,order:s,numTaken:1};this.#r.add(i);let a=kh(i,s[0]);return this.#s.add(a),a}get#a(){return this.#r.first?Ea(this.#r.first):0}#u(){let{first:e}=this.#r;b(e,"a child is taken where there is none");let r=kh(e,e.order[e.numTaken++]);return e.numTaken===rt?this.#r.removeFirst():this.#r.sinkFirst(),r}get#c(){return this.#o.length<this.#t?0:this.#o[this.#o.length-1].mass}#l(e,r,o){let n=2**(8-o);for(let s=0;s<rt;s+=n){let i=e.joint.map((c,l)=>{let f=l*rt+s;return c*Kn(r.subarray(f,f+n))}),a=Kn(i);if(a<=this.#c)continue;let u=c=>this.#o[c].mass<a;this.#o.splice(io(this.#o.length,u),0,{bytes:[...e.bytes,s],joint:i,mass:a}),this.#o.length>this.#t&&this.#o.pop()}}};function Ea({masses:t,order:e,numTaken:r}){return t[e[r]]}function kh({node:t,probabilities:e},r){let o=t.joint.map((n,s)=>n*e[s*rt+r]);return{bytes:[...t.bytes,r],joint:o}}function Kv({joint:t},e){let r=new Float64Array(rt);return t.forEach((o,n)=>{let s=n*rt;for(let i=0;i<rt;i++)r[i]+=o*e[s+i]}),r}function Kn(t){let e=0;for(let r of t)e+=r;return e}var Gv=64;async function Eh(t,e,r={}){let{top:o=20,maxCodes:n=32,maxExpansions:s=4096,signal:i,onProgress:a}=r,u=Ta(e,r.prefixLength);return await Em(t,e,async c=>{let l=et(e),f=await Am(e,c),d=vh(l,{probabilities:f,maxCodes:Math.min(n,1024)}),p=d.codes.length,m=new hr(d.weights,{prefixLength:u,top:o}),h={tree:m,tails:km(e,d.codes)},g={...c,walks:[[h]]},{maxRows:_}=t.decoders.continuationExtent,x=Math.max(1,Math.min(Gv,Math.floor(_/p))),O=Math.min(s,Gn({numComponents:p,top:o}));for(;m.numExpanded<O&&await Mn(g,x)>0;)a?.(m.numExpanded),i?.throwIfAborted();let{isProven:I,numExpanded:E,unfoundAtMost:R}=m,Y=Ue=>Wv(Ue,{mixture:d,prefixLength:u,query:e});return{...Aa(m.found.map(Y)),isProven:I,numExpanded:E,unlistedAtMost:R,codes:{inRange:l.length,used:p}}})}function Aa(t){let e=t.reduce((r,{probability:o})=>r+o,0);return{destinations:t,unlistedProbability:Math.max(0,1-e)}}function Ta({source:t},e){let r=8*t.length;if(e===void 0)return r;if(Number.isInteger(e)&&e>=0&&e<=r)return e;throw new y(`Cannot ask for prefixes of ${e} bits: 0 to ${r} were wanted for the destinations of an IPv${r===32?4:6} source`)}function Wv({bytes:t,joint:e,mass:r},o){let n=new Uint8Array(o.query.source.length);return n.set(t),{prefix:{bytes:n,length:o.prefixLength},probability:r,standardError:Sh(o.mixture,e)}}var za=16;async function Ah(t,e,r){let{numCandidates:o,top:n=o,maxExpansions:s=512,onProgress:i,signal:a}=r,u=e.map(f=>Jv(f,t.config.sequenceLength)),c=u.map(({prompt:f})=>f),l=[];for(let f of Fn(c,t.decoders.continuationExtent,za)){a?.throwIfAborted();let d=8*e[0].source.length,p=await Vv(t,f,{numCandidates:o,maxExpansions:s,numBits:d,signal:a}),m=u.slice(l.length,l.length+f.length),h=await t.decoders.continuationLogProbabilities(m.map(({prompt:_,tail:x},O)=>({prompt:_,continuations:p[O].map(({address:I})=>Uint16Array.from([...Array.from(I,E=>11+E),...x]))}))),g=0;for(let _ of p){let x=h.slice(g,g+=_.length).map(O=>O.reduce((I,E)=>I+E,0));l.push(Yv(_,x,n))}i?.(l.length)}return l}async function Vv(t,e,r){let{numCandidates:o,maxExpansions:n,numBits:s,signal:i}=r,a=e.map(()=>new hr(Float64Array.of(1),{prefixLength:s,top:o})),u=a.map(l=>[{tree:l,tails:[[]]}]),c=Gn({numComponents:1,top:o})/e.length;return await t.decoders.continuePrompts(e,async(l,f)=>{for(let d=0;d<Math.min(n,c)&&await Mn({decoder:l,ends:f,walks:u},za)!==0;d+=za)i?.throwIfAborted()}),a.map(({found:l})=>l.map(({bytes:f,mass:d})=>({address:Uint8Array.from(f),prior:d})))}function Yv(t,e,r){let o=Math.max(...e),n=e.map(a=>Math.exp(a-o)),s=n.reduce((a,u)=>a+u,0),i=t.map(({address:a},u)=>({prefix:Gd(a),probability:n[u]/s,standardError:0})).sort((a,u)=>u.probability-a.probability);return{...Aa(i.slice(0,r)),candidates:t.length,priorMass:t.reduce((a,{prior:u})=>a+u,0)}}function Jv(t,e){let r=et(t);if(r.length>1)throw new y(`Cannot rank destinations by ${r.length} RTT codes: one RTT was wanted; ask for the range without candidates`);let{source:o,timeS:n,context:s}=t,i={source:o,destination:o,rttCode:r[0],timeS:n},a=Xe(i,{context:s,order:Le,sequenceLength:e}),u=a.lastIndexOf(o.length===4?3:4)+1;return{prompt:a.slice(0,u),tail:[...a.subarray(u+o.length)]}}var $a=vi([$(),v()]).nullish(),ho=$({error:"an IPv4 or IPv6 address was wanted"}),Xv=v().min(0).max(1);function wr(t){let e=`only ${Object.keys(t).join(", ")} were wanted`;return St(t,{error:({code:r})=>r==="unrecognized_keys"?e:void 0})}var gr=wr({src_addr:ho,dst_addr:ho,timestamp:$a,rtt:v().min(0).nullable()}),Oa=wr({quantiles:G(Xv).max(200).optional(),at:G(v().min(0)).max(200).optional(),cdf:P().min(2).max(1e3).optional()}),Th=wr({src_addr:ho,dst_addr:ho,timestamp:$a,context:G(gr).optional(),...Oa.shape,draws:P().min(2).max(2**12).optional(),seed:P().min(0).max(2**32-1).optional()}),eO=D({src_addr:$(),dst_addr:$(),timestamp:v().nullable(),context_measurements:P(),p_failed:v(),mean_ms:v(),likeliest:D({rtt_ms:v(),probability:v()}),quantiles_ms:kt($(),v()),canonical_mass:v(),at:G(D({rtt_ms:v(),cdf:v(),probability:v(),low_ms:v(),high_ms:v().nullable(),bits:v().nullable()})).optional(),cdf:G(D({rtt_ms:v(),cdf:v()})).optional(),drawn:D({num_draws:P(),num_distinct:P(),source_probability:v().nullable(),destination_probability:v().nullable(),standard_errors:D({p_failed:v(),mean_ms:v(),quantiles_ms:kt($(),v()),cdf:G(v()).optional(),destination_probability:v()})}).optional(),notes:G($()).optional(),step:P()}),tO=D({line:P(),error:$()}),zh=wr({src_addr:ho,rtt:Zr([v().min(0),v().min(0)]),timestamp:$a,context:G(gr).optional(),top:P().min(1).max(1e3).optional(),prefix_length:P().min(0).max(128).optional(),candidates:P().min(1).max(1024).optional(),max_codes:P().min(1).max(1024).optional(),max_expansions:P().min(1).max(2**16).optional()}),rO=D({src_addr:$(),rtt:Zr([v(),v()]),timestamp:v().nullable(),prefix_length:P(),context_measurements:P(),destinations:G(D({prefix:$(),probability:v(),standard_error:v()})),unlisted_probability:v(),unlisted_at_most:v().optional(),is_proven:vt().optional(),step:P()}),$h=wr({...gr.shape,context:G(gr).optional()}),oO=D({src_addr:$(),dst_addr:$(),timestamp:v().nullable(),rtt:v().nullable(),mean_bits:v(),spread_bits:v(),total_bits:v(),orders:G(D({order:$(),bits:v(),block_bits:kt($(),v())})),step:P()}),nO=D({src_addr:$(),dst_addr:$(),timestamp:v().nullable(),rtt:v().nullable(),log_likelihood:v(),p_value:v()}),Oh=wr({context:qr.number().int().min(0).max(1e3).optional(),seed:qr.number().int().min(0).max(2**32-1).optional()}),Pa=D({version:$(),step:P(),num_parameters:P(),vocabulary:$(),model_sha256:$(),data_fingerprint:$(),trained_tokens:P(),config:kt($(),Wo()),is_calibrated:vt(),training_curve:G(D({step:P(),train_loss:v().nullable(),eval_loss:v().nullable()})),evaluation:D({num_measurements:P(),split:$(),num_training:P(),methods:G(D({name:$(),median_absolute_ms:v(),mean_absolute_ms:v(),crps_ms:v().nullable()}))}).nullable()}),sO=D({...Pa.shape,adapter:$(),examples:G(D({src_addr:$(),dst_addr:$()}))}),iO=D({type:$(),title:$(),status:P(),detail:$()});var Qv=[["src","src_addr"],["dst","dst_addr"],["time","timestamp"]];function ot(t,e){let r=Ph(e),{success:o,data:n,error:s}=t.safeParse(r);if(o)return n;throw new y(Ri(s,{value:r}))}function Ph(t){if(typeof t!="object"||t===null||Array.isArray(t))return t;let e=new Map(Object.entries(t));for(let[o,n]of Qv)if(e.has(o)){if(e.has(n))throw new y(`found ${o} and ${n}, one of the two was wanted`);e.set(n,e.get(o)),e.delete(o)}let r=e.get("context");return Array.isArray(r)&&e.set("context",r.map(Ph)),Object.fromEntries(e)}function Ra(t,e={}){let{draws:r,seed:o,quantiles:n,at:s,cdf:i,...a}=ot(Th,t),{src_addr:u,dst_addr:c}=a;return{query:{src:u,dst:c,...tn(Rh(a))},wanted:{quantiles:n??e.quantiles,at:s??e.at,cdf:i??e.cdf},draws:{numDraws:r,seed:o}}}function Wn(t){let{src_addr:e}=t,{source:r,timeS:o,context:n}=tn(Rh({...t,dst_addr:e}));if(!re(r))throw new y(`found src_addr ${Fe(e)}, an IPv4 or IPv6 address was wanted`);return{source:r.bytes,timeS:o,context:n??[]}}function Vn(t){return Gr(Mh(t))}function Rh({src_addr:t,dst_addr:e,timestamp:r,context:o}){return{src:t,dst:e,time:r,context:o?.map(Mh)}}function Mh({src_addr:t,dst_addr:e,timestamp:r,rtt:o}){return{src:t,dst:e,rtt:o,...r!==void 0&&{time:r}}}function Zt(t){return Ma(t)}function Ma(t){if(Array.isArray(t))return t.map(Ma);if(typeof t!="object"||t===null)return t;let e=Object.entries(t).map(([r,o])=>[r.replace(/[A-Z]/g,n=>`_${n.toLowerCase()}`),Ma(o)]);return Object.fromEntries(e)}var[e0,t0,r0]=[20,32,4096];function Ih(t,e){let{rtt:r,prefix_length:o,candidates:n,...s}=ot(zh,e),{src_addr:i,timestamp:a,context:u}=s;if(n!==void 0&&o!==void 0)throw new y("found candidates and prefix_length, one of the two was wanted: candidates are ranked whole");let c={...Wn({src_addr:i,timestamp:a,context:u}),rttMs:r},l=et(c).length;if(n!==void 0&&l>1)throw new y(`found rtt ${r.join("..")} ms with candidates, which is ${l} RTT codes: one was wanted; leave candidates out`);let f=Ta(c,o),d=Ot({...c,destination:c.source},t.config.sequenceLength),p={src_addr:i,rtt:r,timestamp:c.timeS,prefix_length:f,context_measurements:d.length},{top:m=e0,max_codes:h=t0,max_expansions:g=r0}=s;return async _=>{let x={top:m,maxExpansions:g,signal:_},O=n===void 0?o0(await Eh(t,c,{...x,maxCodes:h,prefixLength:f})):Nh((await Ah(t,[c],{...x,numCandidates:n}))[0]);return{...p,...O,step:t.step}}}function o0(t){let{unlistedAtMost:e,isProven:r}=t;return{...Nh(t),...Zt({unlistedAtMost:e,isProven:r})}}function Nh(t){let e=t.destinations.map(({prefix:r,...o})=>({prefix:Kr(r),...o}));return Zt({destinations:e,unlistedProbability:t.unlistedProbability})}async function*Lh(t,e,r){let o=t[Symbol.asyncIterator](),n=[],s,i=!1;try{for(;!i||n.length>0;){!i&&n.length<r&&(s??=o.next());let a=n[0],u=s?.then(f=>({next:f})),c=a?.then(f=>({value:f})),l=await Promise.race([c,u].filter(f=>f!==void 0));if("value"in l){n.shift(),yield l.value;continue}s=void 0,l.next.done?i=!0:n.push(n0(e(l.next.value)))}}finally{let a=o.return?.();s?a?.catch(()=>{}):await a}}function n0(t){return t.catch(()=>{}),t}async function*Ia(t){let e=0;for(let r of t)yield{line:++e,read:()=>r}}async function*Na(t){let e=0;for await(let r of t)e++,r.trim()!==""&&(yield{line:e,read:()=>s0(r)})}async function La(t){return await Array.fromAsync(t,e=>"error"in e?e:e.answer)}async function*Ca(t){for await(let e of t)yield"error"in e?e:{line:e.line,...e.answer}}function s0(t){try{return JSON.parse(t)}catch(e){throw e instanceof SyntaxError?new y("found no JSON, an object was wanted",{cause:e}):e}}var _r=class{#e=new Map;#t=0;get length(){return this.#t}get numLanes(){return this.#e.size}push(e,r){let o=this.#e.get(r);o?o.push(e):this.#e.set(r,[e]),this.#t++}take(){let e=this.#e.entries().next();if(e.done)return;let[r,o]=e.value,n=o.shift();return this.#e.delete(r),o.length>0&&this.#e.set(r,o),this.#t--,n}remove(e,r){let o=this.#e.get(r),n=o?.indexOf(e)??-1;!o||n<0||(o.splice(n,1),o.length===0&&this.#e.delete(r),this.#t--)}};var Da=1024;function Ba(t){return new Se(429,`Cannot answer: ${t} requests wait already; ask again in a second`)}var Yn=class{#e;#t;#r=new _r;#o=!1;#n=1;#s;constructor(e,r={}){this.#e=e,this.#t={maxBatch:62,maxWaitMs:10,maxQueue:Da,onBatch:()=>{},...r}}get queueLength(){return this.#r.length}async ask(e,r,{lane:o,signal:n}={}){if(n?.throwIfAborted(),Ae(e,this.#e.config.sequenceLength),!o&&this.#r.numLanes>=this.#t.maxQueue)throw Ba(this.#t.maxQueue);let{promise:s,resolve:i,reject:a}=Promise.withResolvers(),u=o??{},c={query:e,settle(f){try{i(r(f))}catch(d){a(d)}},fail:a},l=()=>{this.#r.remove(c,u),a(n?.reason)};n?.addEventListener("abort",l),this.#r.push(c,u),this.#i();try{return await s}finally{n?.removeEventListener("abort",l)}}#i(){if(this.#o||this.#r.length===0)return;let{maxBatch:e,maxWaitMs:r}=this.#t,o=this.#r.length>=Math.min(this.#n,e);if(this.#s&&(this.#s.isLast||!o))return;clearTimeout(this.#s?.id);let n=setTimeout(()=>void this.#a(),o?0:r);this.#s={id:n,isLast:o}}async#a(){this.#s=void 0;let e=[];for(;e.length<this.#t.maxBatch;){let o=this.#r.take();if(!o)break;e.push(o)}if(e.length===0)return;this.#o=!0,this.#n=e.length,this.#t.onBatch(e.length);let r=await this.#u(e);this.#o=!1,this.#r.length>=this.#t.maxBatch&&this.#a(),e.forEach((o,n)=>"error"in r?o.fail(r.error):o.settle(r.distributions[n])),this.#i()}async#u(e){try{let r=e.map(({query:o})=>o);return{distributions:await tr(()=>this.#e.rttDistributions(r))}}catch(r){return{error:r}}}};var Jn=class{maxQueue;#e;#t;constructor(e=Da){this.maxQueue=e,this.#e=new _r,this.#t=!1}get queueLength(){return this.#e.length}async run(e,{lane:r,signal:o}){o?.throwIfAborted(),this.#t&&await this.#r(r,o),this.#t=!0;try{return o?.throwIfAborted(),await e()}finally{let n=this.#e.take();n?n():this.#t=!1}}async#r(e,r){if(!e&&this.#e.numLanes>=this.maxQueue)throw Ba(this.maxQueue);let{promise:o,resolve:n,reject:s}=Promise.withResolvers(),i=e??{},a=()=>{this.#e.remove(n,i),s(r?.reason)};r?.addEventListener("abort",a),this.#e.push(n,i);try{await o}finally{r?.removeEventListener("abort",a)}}};var i0=4;function Ch(t,e){let{quantiles:r,atMs:o=[]}=e,{distribution:n}=t.mixture,{pFailed:s,meanMs:i,canonicalMass:a}=n;return{pFailed:s,meanMs:Number(i.toPrecision(i0)),likeliest:n.likeliest(),quantilesMs:Dh(r,u=>n.quantileMs(u)),canonicalMass:a,...o.length>0&&{at:o.map(u=>a0(n,u))},...t.mixture.numDraws>0&&{drawn:u0(t,{quantiles:r,atMs:o})}}}function a0(t,e){let r=t.indexOf(e),{lowMs:o,highMs:n}=Xo(te[r]),s=t.probabilities[r],i=(1-t.pFailed)*s;return{rttMs:e,cdf:t.cdf(e),probability:s,lowMs:o,highMs:n===1/0?null:n,bits:i>0?-Math.log2(i):null}}function u0(t,{quantiles:e,atMs:r=[]}){let{mixture:o,sourceProbability:n,destinationProbability:s,destinationProbabilityError:i}=t,{numDraws:a,numDistinct:u,pFailedError:c,meanErrorMs:l}=o;return{numDraws:a,numDistinct:u,sourceProbability:n,destinationProbability:s,standardErrors:{pFailed:c,meanMs:l,quantilesMs:Dh(e,f=>o.quantileErrorMs(f)),...r.length>0&&{cdf:r.map(f=>o.cdfError(f))},destinationProbability:i}}}function Dh(t,e){return Object.fromEntries(t.map(r=>[r,e(r)]))}var c0=[.05,.25,.5,.75,.95],l0=[.001,.999];function Bh(t,{quantiles:e=c0,at:r=[],cdf:o},n){let{query:{src:s,dst:i,timeS:a},answer:u,numContextUsed:c}=t,l=bm(t);return{src_addr:s,dst_addr:i,timestamp:a,context_measurements:c,...Zt(Ch(u,{quantiles:e,atMs:r})),...o!==void 0&&{cdf:f0(u.mixture.distribution,o)},...l.length>0&&{notes:l},step:n}}function f0(t,e){let[r,o]=l0.map(n=>t.quantileMs(n));return Array.from({length:e},(n,s)=>{let i=r*(o/r)**(s/(e-1));return{rtt_ms:i,cdf:t.cdf(i)}})}var d0=.01,Xn=W.map(ur),Zh=Xn.map(({length:t})=>t),Qn=class{logLikelihood;needed;#e;#t=0;#r=0;#o=0;constructor(e,{outcome:r,first:o,second:n},s=d0){this.logLikelihood=fm(e,{outcome:r,first:o,second:n});let i=oa(r);this.#e=Qe(o,W).probabilities.map(u=>u*(1-i));let a=e===null?-1:W.indexOf(e>>8);if(e===null)this.#t=i;else{let{probabilities:u}=Qe(n,Xn[a]);this.#t=this.#e[a]*u[Xn[a].indexOf(e&255)],this.addSecondBytes(a,n)}this.#n(i),this.needed=this.#s(a,s)}addSecondBytes(e,r){let o=this.#e[e];for(let n of Qe(r,Xn[e]).probabilities)this.#n(o*n)}pValue(e){return Math.min(1,this.#r+this.#o*(1-e))}#n(e){e<this.#t?this.#r+=e:e===this.#t&&(this.#o+=e)}#s(e,r){let o=[];for(let i=0;i<this.#e.length;i++){let a=this.#e[i];i!==e&&(a<this.#t?this.#r+=a:o.push({index:i,most:Math.min(a,Zh[i]*this.#t)}))}o.sort((i,a)=>i.most-a.most||i.index-a.index);let n=r*this.#r,s=0;for(;s<o.length&&o[s].most<=n;){let{index:i,most:a}=o[s++];n-=a,this.#e[i]<Zh[i]*this.#t&&(this.#r+=this.#e[i])}return o.slice(s).map(({index:i})=>i).sort((i,a)=>i-a)}};var Uh=2**32;async function qh(t,e,r){let o=[],n=0,s=e.map(i=>p0(i,t.config.sequenceLength));return await t.decoders.withPrompts(s,1,async(i,a)=>{let u=e.slice(o.length,o.length+a.length),c=await m0(i,a,{part:u,...r});for(let l of h0(c,i.extent.maxRows))await g0(i,c,l),n+=l.length;c.forEach((l,f)=>{let{number:d}=u[f],p=new Be(r.seed,"score/p-value",d%Uh,Math.floor(d/Uh));o.push({logLikelihood:l.logLikelihood,pValue:l.pValue(p.float64())})})}),{scores:o,numExpanded:n}}function p0({measurement:t,context:e},r){let{rttCode:o}=t,n=Ae({...t,context:e},r),s=o===null?W[0]:o>>8;return Uint16Array.from([...n,8,11+s])}async function m0(t,e,{part:r,maxRelativeError:o}){let n=q(t.config),s=await t.prefill(e,{numLast:3});return r.map(({measurement:i},a)=>{let[u,c,l]=[0,1,2].map(f=>se(s,3*a+f,n));return new Qn(i.rttCode,{outcome:u,first:c,second:l},o)})}function*h0(t,e){let r=t.flatMap(({needed:o},n)=>o.map(s=>({prompt:n,index:s})));for(let o=0;o<r.length;o+=e)yield r.slice(o,o+e)}async function g0(t,e,r){let o=q(t.config),n=e.map(()=>0);for(let{prompt:i}of r)n[i]++;t.fork(n,{numDropped:1});let s=await t.step(r.map(({index:i})=>11+W[i]));r.forEach(({prompt:i,index:a},u)=>e[i].addSecondBytes(a,se(s,u,o)))}var es=class{maxContext;maxKept;#e;#t;#r;#o;#n;constructor(e,r=65536){this.maxContext=e,this.maxKept=r,this.#e=[],this.#t=new Map,this.#r=0,this.#o=0,this.#n=[]}get numKept(){return this.#r+this.#n.length}clear(){this.#e=[],this.#n=[],this.#t.clear(),this.#r=0}add(e,r,o){this.maxContext!==0&&(this.#s(r),this.#n.push({pair:e,order:this.#o++,timeUs:r,measurement:o,isDropped:!1}))}contextOf(e,r){this.#s(r);let o=[...this.#t.get(e)??[]];for(let n=this.#e.length-1;n>=0&&o.length<this.maxContext;n--){let s=this.#e[n];!s.isDropped&&s.pair!==e&&o.push(s)}return o.sort((n,s)=>n.order-s.order).map(({measurement:n})=>n)}#s(e){if(!(this.#n.length===0||this.#n[0].timeUs>=e)){for(let r of this.#n)this.#i(r);this.#n=[],this.#e.length>2*this.#r+256&&(this.#e=this.#e.filter(({isDropped:r})=>!r))}}#i(e){let r=this.#t.get(e.pair)??[];r.push(e)===1&&this.#t.set(e.pair,r),this.#e.push(e),this.#r++,r.length>this.maxContext?this.#a(r[0]):this.#r>this.maxKept&&this.#a(this.#e.find(({isDropped:o})=>!o))}#a(e){if(!e)return;let r=this.#t.get(e.pair);r?.shift(),r?.length===0&&this.#t.delete(e.pair),e.isDropped=!0,this.#r--}};function jh({source:t,destination:e}){return`${t} ${e}`}var w0=2**14,ts=class{maxContext;maxKept;#e;#t;constructor(e,r=w0){this.maxContext=e,this.maxKept=r,this.#e=new Map,this.#t=0}get numKept(){return this.#t}contextOf(e,r){let{source:o,timeS:n}=e,s=`${o} ${n===null}`,i=this.#e.get(s)??{history:new es(this.maxContext,this.maxKept/2),newestUs:0},{history:a}=i;i.newestUs=Math.max(i.newestUs,_0(r)??i.newestUs+1);let u=jh(e),c=a.contextOf(u,i.newestUs).filter(l=>(l.timeS??0)<=(n??0)).sort((l,f)=>(l.timeS??0)-(f.timeS??0));return this.#e.delete(s),this.#e.set(s,i),this.#t-=a.numKept,a.add(u,i.newestUs,e),this.#t+=a.numKept,this.#r(),c}#r(){for(let[e,{history:r}]of this.#e){if(this.#t<=this.maxKept)return;this.#t-=r.numKept,this.#e.delete(e)}}};function _0(t){let e=Qo(String(t??""));return"timeUs"in e?e.timeUs:void 0}var x0=1024;async function*Hh(t,e,{context:r,seed:o,signal:n}){let s=new ts(r),i=[],a=0;for await(let u of e){let c=y0(u,s,t.config.sequenceLength);i.push(c),a+="error"in c?1:1+c.case.context.length,!(a<x0)&&(n?.throwIfAborted(),yield*Fh(t,i,o),i=[],a=0)}n?.throwIfAborted(),yield*Fh(t,i,o)}function y0({line:t,read:e},r,o){try{let n=ot(gr,e()),s=Vn(n),i=r.contextOf(s,n.timestamp);return Ae({...s,context:i},o),{asked:n,case:{measurement:s,context:i,number:t-1}}}catch(n){if(n instanceof y)return{line:t,error:n.message};throw n}}async function*Fh(t,e,r){let o=e.flatMap(i=>"error"in i?[]:[i.case]),{scores:n}=await tr(()=>qh(t,o,{seed:r})),s=0;for(let i of e){if("error"in i){yield i;continue}let{asked:{src_addr:a,dst_addr:u,rtt:c},case:{measurement:l,number:f}}=i,{logLikelihood:d,pValue:p}=n[s++],m={src_addr:a,dst_addr:u,timestamp:l.timeS,rtt:c};yield{line:f+1,answer:{...m,log_likelihood:d,p_value:p}}}}var b0=124,v0=20,rs=class{#e;#t;#r;#o;#n;constructor(e,{info:r,batch:o={}}){this.#e=e,this.#t=r,this.#o=new Yn(e,o),this.#n=new Jn(o.maxQueue)}get queueLength(){return this.#o.queueLength+this.#n.queueLength}async rtt(e,r){return await this.#i(Ra(e),{signal:r})}async rttBatch(e,r){return await La(this.#s(Ia(Kh(e)),{},r))}rttLines(e,r={},o){return Ca(this.#s(Na(e),r,o))}async destinations(e,r){let o=Ih(this.#e,e);return await this.#a(()=>o(r),{signal:r})}async likelihood(e,r){let{context:o,...n}=ot($h,e),s=Vn(n),{context:i}=Wn({...n,context:o});Ae({...s,context:i},this.#e.config.sequenceLength);let a={measurement:s,rttMs:n.rtt,context:i},[u]=await this.#a(()=>hm(this.#e,[a]),{signal:r}),{meanBits:c,spreadBits:l,totalBits:f}=u,d=u.orders.map(({blocks:m,bits:h})=>({order:m.map(({field:g})=>g).join(),bits:h,blockBits:Object.fromEntries(m.map(({field:g,bits:_})=>[g,_]))})),p=Zt({meanBits:c,spreadBits:l,totalBits:f,orders:d});return{...n,timestamp:s.timeS,...p,step:this.#e.step}}async score(e,r={},o){return await La(this.#u(Ia(Kh(e)),r,o))}scoreLines(e,r={},o){return Ca(this.#u(Na(e),r,o))}async model(){return this.#r??=this.#a(()=>Sm(this.#e),{}).catch(e=>{throw this.#r=void 0,e}),{...this.#t,adapter:this.#e.gpu.info.name,examples:await this.#r}}async*#s(e,r,o){let n=ot(Oa,r),s={lane:{},signal:o};yield*Lh(e,async({line:a,read:u})=>{try{return{line:a,answer:await this.#i(Ra(u(),n),s)}}catch(c){if(!(c instanceof Error)||rn(c).status!==400)throw c;return{line:a,error:c.message}}},b0)}async#i({query:e,wanted:r,draws:o},n){let s=this.#e,{first:i,...a}=ym(s,e,[]),u=f=>{let d={...a,numContextUsed:i.context.length,answer:f};return Bh(d,r,s.step)};if(re(e.source)&&re(e.destination))return await this.#o.ask(i,f=>u(Pn(f)),n);let c={...e,context:i.context},l=()=>n.signal?.throwIfAborted();return await this.#a(async()=>u(await ia(s,c,{...o,onProgress:l})),n)}async#a(e,r){return await this.#n.run(()=>tr(e),r)}async*#u(e,r,o){let{context:n=v0,seed:s=0}=ot(Oh,r);yield*Hh(this.#e,e,{context:n,seed:s,signal:o})}};function Kh(t){if(Array.isArray(t))return t;throw new Se(400,"Cannot answer: found no array, one was wanted")}var ye="wpe.weight",S0={nodes:new Uint32Array,keys:new Float32Array,values:new Float32Array};function k0({coordinates:t}){return t?Ki(rr(t),0).reduce((e,{length:r})=>e+r,0):0}function Gh({prefixVectors:t,pairVectors:e}){return{firstPair:t?.rows??0,length:e?.history?pt:0}}function Wh(t,e,r){let o=new Map;return Yh(t,r,({name:n,start:s,length:i,values:a,at:u})=>{let c=o.get(n)??L(e,n).slice();o.set(n,c),c.set(a.subarray(u,u+i),s)}),new Map([...e,...o])}function Vh(t,e,r,o=S0.nodes){let n={rows:r,keys:new Float32Array(2*r.length),values:new Float32Array(t.width*r.length),history:new Float32Array(Gh(t).length*r.length),coordinates:{nodes:o,keys:new Float32Array(2*o.length),values:new Float32Array(k0(t)*o.length)}};return Yh(t,n,({name:s,start:i,length:a,values:u,at:c})=>{u.set(L(e,s).subarray(i,i+a),c)}),n}function Yh(t,e,r){let{rows:o,keys:n,values:s,history:i,coordinates:{nodes:a,...u}}=e,{width:c,coordinates:l}=t,{firstPair:f,length:d}=Gh(t);if(b(o.every(m=>m<xe(t)),"rows of another model"),o.forEach((m,h)=>{r({name:Ee,start:2*m,length:2,values:n,at:2*h}),r({name:ye,start:c*m,length:c,values:s,at:c*h}),!(m<f||d===0)&&r({name:or,start:d*(m-f),length:d,values:i,at:d*h})}),b(a.every(m=>m<(l?.nodes??0)),"coordinates of another model"),!l)return;let p=0;a.forEach((m,h)=>{r({name:eo,start:2*m,length:2,values:u.keys,at:2*h});for(let{part:g,start:_,length:x}of Ki(rr(l),m))r({name:to(g),start:_,length:x,values:u.values,at:p}),p+=x})}var Jh=2**48;function Xh(t,e=1/0){for(let r=0;r<t.length;r++)if(!(Math.abs(t[r])<e))return r;return-1}function Qh(t,e=1/0){for(let[r,o]of t){let n=Xh(o,e);if(n<0)continue;let s=e===1/0?"a finite number":`a magnitude below ${e.toExponential(1)}`;return`element ${n} of tensor ${r} is ${o[n]}, ${s} was wanted`}}function eg(t,e){let r=Xh(t),o=e.find(s=>!(s>0));if(r<0&&o===void 0)return;let n=r<0?`a hidden state of scale ${o}`:`a log-probability of ${t[r]}`;throw new y(`Cannot use the model: found ${n}, as where weights are too large for float32, finite numbers were wanted; use an earlier checkpoint or another run`)}var E0={initial:2**15,min:1,max:2**24,growthSteps:500};function tg({initial:t}=E0){return Float32Array.of(t,0)}var A0=4096,T0=256,Za="reduce_partials";function og(t){return Math.min(T0,Math.ceil(t/A0))}function ng(t,e){let{x:r,length:o,out:n,accumulate:s=!1}=e;S(Za,o,{x:r});let i=og(o);if(i===1)return rg(t,{x:r,length:o,out:n,accumulate:s});let a=t.registry.gpu.tensor("partial sums",[i]);sg(t,{label:"sum",isSum:!0,x:r,length:o,out:a,numPartials:i}),rg(t,{x:a,length:i,out:n,accumulate:s})}function rg(t,e){S(Za,1,{out:e.out}),sg(t,{label:"sum",isSum:!0,...e})}function sg(t,e){let{label:r,isSum:o=!1,x:n,length:s,out:i,first:a=0,numPartials:u=1,count:c=1,accumulate:l=!1}=e;t.add({kernel:Za,label:r,overrides:{SQUARE:+!o},bindings:{x:n,partials:i},params:{length:s,first:a,num_partials:u,accumulate:Number(l)},grid:[...X(u),c]})}function ig(t,e){let{config:r,extent:o,tensors:n}=e,{backward:s,head:i,gradients:a,inputs:u}=n;b(s,"a model without training has no backward pass");let c=o.batchSize*o.sequenceLength,l=r.width;go(t,e,{name:"lm_head.weight",dy:s.dLogits,x:i.xLastNorm,dx:s.dNorm}),t.mark("lm_head."),Ua(t,e,{x:i.xLast,scale:i.xLastScale,backward:s,accumulate:!1});for(let d=r.numLayers-1;d>=0;d--)o.checkpointActivations&&d<r.numLayers-1&&ch(t,e,d),z0(t,e,{layer:d,backward:s}),$0(t,e,{layer:d,backward:s}),t.mark(`blocks.${d}.`);let f=[{name:"wte.weight",tokenRows:u.tokenRows,vocabSize:q(r),numUses:c},{name:"wpe.weight",tokenRows:u.rowPlaces,vocabSize:wt(r,o),numUses:pr(o)}];for(let{name:d,tokenRows:p,...m}of f){if(!p)continue;let h=L(a,d);Rm(t,{tokenRows:p,dx:s.dx,dTable:h,rows:c,width:l,...m})}}function go(t,{extent:e,tensors:r},o){let{name:n,dy:s,x:i,dx:a,epilogue:u="store"}=o,c=L(r.operands,n),[l,f]=c.shape,d=e.batchSize*e.sequenceLength,p=n.replace(/^blocks\.\d+\.\w+\.|\.weight$/g,"");mo(t,{kind:"NN",m:d,n:f,k:l,a:s,b:c,c:a,epilogue:u,label:`${p} dx`});let m=r.gradients.get(n);m&&mo(t,{kind:"TN",m:l,n:f,k:d,a:s,b:i,c:m,epilogue:"accumulate",label:`${p} dW`})}function z0(t,e,{layer:r,backward:o}){let{xMiddle:n,xMiddleNorm:s,xMiddleScale:i,hidden:a,activated:u}=e.tensors.layers[r];b(a,"a model without training keeps no argument of the activation"),go(t,e,{name:`blocks.${r}.mlp.down_proj.weight`,dy:o.dx,x:u,dx:o.dHidden,epilogue:{activation:e.config.activation,slopeAt:a}}),go(t,e,{name:`blocks.${r}.mlp.up_proj.weight`,dy:o.dHidden,x:s,dx:o.dNorm}),Ua(t,e,{x:n,scale:i,backward:o,accumulate:!0})}function $0(t,e,{layer:r,backward:o}){let{config:n,extent:s,tensors:i}=e,a=i.layers[r];go(t,e,{name:`blocks.${r}.attn.o_proj.weight`,dy:o.dx,x:a.attention,dx:o.dAttention}),Gm(t,{q:a.qRotated,k:a.kRotated,v:a.v,out:a.attention,dOut:o.dAttention,logSumExp:a.logSumExp,segmentStart:i.inputs.segmentStart,dq:o.dqRotated,dk:o.dkRotated,dv:o.dv,delta:o.delta,...ba(n,s)});let u=qn(n,s),{dqRotated:c,dkRotated:l,dkUnshifted:f=l,dq:d,dk:p,dv:m,dNorm:h}=o,{previous:g}=i.inputs;g&&Cm(t,{dy:l,previous:g,dx:f,...u}),ya(t,{x:a.q,scale:a.qScale,dy:c,dx:d,...u}),ya(t,{x:a.k,scale:a.kScale,dy:f,dx:p,...u});for(let[_,x]of[["q",d],["k",p],["v",m]])go(t,e,{name:`blocks.${r}.attn.${_}_proj.weight`,dy:x,x:a.xNorm,dx:h,epilogue:_==="q"?"store":"accumulate"});Ua(t,e,{x:a.x,scale:a.xScale,backward:o,accumulate:!0})}function Ua(t,{config:{width:e},extent:r},{backward:{dNorm:o,dx:n},...s}){let i=r.batchSize*r.sequenceLength;ah(t,{...s,dy:o,dx:n,rows:i,width:e})}function ag(t,e){let{logits:r,targets:o,lossMask:n,losses:s,weight:i,dLogits:a,lossScale:u,ordinal:c,teacher:l}=e,{markedWeight:f=1,rows:d,vocabSize:p,stride:m,softcap:h}=e,g="cross_entropy";ug(g,e),S(g,d,{targets:o,lossMask:n,losses:s}),S(g,d*m,{logits:r,...a?{dLogits:a}:{},...l?{teacherLogits:l.logits}:{}}),S(g,1,{weight:i,...u?{lossScale:u}:{}}),t.add({kernel:g,overrides:{SOFTCAP:+(h!==null),GRADIENT:+(a!==void 0),SCALED:+(u!==void 0),TAUGHT:+(l!==void 0)},bindings:{logits:r,targets:o,loss_mask:n,weight:i,losses:s,d_logits:a??t.registry.unusedOutput,loss_scale:u??i,teacher_logits:l?.logits??r},params:{rows:d,vocab_size:p,stride:m,softcap:h??0,first_byte:c?.firstByte??0,ordinal_2:c?.weights[0]??0,ordinal_3:c?.weights[1]??0,marked_weight:f,teacher_weight:l?.weight??0,teacher_softcap:l?.softcap??0},grid:X(d)})}function qa(t,e){let{logits:r,rowIndex:o,out:n,numRows:s,vocabSize:i,stride:a,softcap:u}=e,c="log_probabilities";ug(c,e),S(c,a,{logits:r}),S(c,s,{rowIndex:o}),S(c,s*i,{out:n}),t.add({kernel:c,overrides:{SOFTCAP:+(u!==null)},bindings:{logits:r,row_index:o,out:n},params:{num_rows:s,vocab_size:i,stride:a,softcap:u??0},grid:X(s)})}function ug(t,{vocabSize:e,stride:r,softcap:o}){if(j(t,{stride:r},4),j(t,{vocabSize:e},1),e>r)throw new N(t,`vocabSize is ${e}, at most the stride ${r} was wanted`);if(o!==null&&!(o>0))throw new N(t,`softcap is ${o}, a positive number or null was wanted`)}function ja(t,{config:e,extent:r,tensors:o,teacher:n}){let{head:s,inputs:i,backward:a}=o,{rttDistanceWeights:u,rttByteWeight:c}=r,l=r.batchSize*r.sequenceLength;Bt(t,{extent:r,tensors:o},{...cg,x:s.xLastNorm,y:s.logits}),ag(t,{logits:s.logits,targets:i.targets,lossMask:i.lossMask,losses:s.losses,weight:i.weight,lossScale:i.lossScale,markedWeight:c,rows:l,...Fa(e),...a?{dLogits:a.dLogits,teacher:n}:{},...u?{ordinal:{firstByte:11,weights:u}}:{}})}function Fa(t){return{vocabSize:q(t),stride:Ct(t),softcap:t.softcap}}var cg={name:"lm_head.weight",label:"lm_head"};function lg(t,e){let{config:r,hiddenStates:o,operands:n,tensors:s,rows:i}=e,{positions:a,picked:u,logits:c,rowIndex:l,logProbabilities:f}=s;It(t,{tokens:a,table:o,x:u,rows:i,width:r.width}),Bt(t,{extent:{batchSize:1,sequenceLength:i,training:!1},tensors:{operands:n}},{...cg,x:u,y:c}),qa(t,{logits:c,rowIndex:l,out:f,numRows:i,...Fa(r)})}async function fg(t,{config:e,logits:r,positions:o}){let{gpu:n}=t,s=o.length,i=n.tensorFrom("chosen rows",[s],o),a=n.tensor("log-probabilities",[s,q(e)]),u=new ze(t,"log-probabilities");qa(u,{logits:r,rowIndex:i,out:a,numRows:s,...Fa(e)}),u.run();let[c]=await n.read(a);for(let{buffer:l}of[i,a])l.destroy();return c}function O0(t,e){let r=0,o=t;for(;o-r>1;){let n=Math.floor((r+o)/2);e(n)?r=n:o=n}return r}function P0(t){return t>0?`set train.microBatchSize to ${t} or less`:"choose a smaller model"}async function dg(t,e,r){let o=Mt(t.device),n=s=>dr(i=>da(e,{...r,batchSize:s},i))<=o;return await Nn(t,s=>da(e,r,s),{what:"the model",remedy:n(r.batchSize)?"lower train.microBatchSize or set train.checkpointActivations":P0(O0(r.batchSize,n))})}function os(t,e,{parameters:r,weights:o}){let n=vn(e);for(let s of o.keys())if(!n.has(s))throw Ha(`a weight ${s}`,"none of that name");for(let[s,[i,a]]of n){let u=o.get(s);if(!u)throw Ha(`no weight ${s}`,`one of shape [${i}, ${a}]`);if(u.length!==i*a)throw Ha(`${u.length} values of ${s}`,`a shape of [${i}, ${a}]`);let c=r.get(s);c&&t.write(c,u)}}async function pg(t,e,r){let o=await t.read(...r.values()),n=q(e);return new Map([...r].map(([s,i],a)=>{let c=s.startsWith("lm_head.weight")?n*e.width:Te(i);return[s,o[a].slice(0,c)]}))}function Ha(t,e){return new y(`Cannot load the weights: found ${t}, wanted ${e}; use the configuration they were trained with`)}var ns=class t{registry;config;extent;#e;#t;#r;#o;#n;#s;#i;constructor(e,r,o,n,s){this.registry=e,this.config=r,this.extent=o,this.#e=e.gpu,this.#t={config:r,extent:o,tensors:n,teacher:s},n.inputs.addressRows&&(this.#s=new ht(r));let i=o.freeRows!==void 0;this.#i=new Cn(wt(r,o),pr(o),i);let{lossScale:a}=n.inputs;a&&this.#e.write(a,tg()),this.#r=new ze(e,"operand copies"),uh(this.#r,n),this.#o=new ze(e,"evaluation"),mr(this.#o,this.#t),ja(this.#o,{...this.#t,tensors:{...n,backward:void 0}}),this.#n=o.training?this.#c():void 0}static async create(e,r,o,n){let{sequenceLength:s=r.sequenceLength}=o;b(s<=r.sequenceLength,`sequences of ${s} tokens are too long`);let i={...o,sequenceLength:s},a=await dg(e.gpu,r,i),u=new t(e,r,i,a,n);return await e.ready(),u}async tune(e){for(let r of[this.#n,this.#o])r&&await e.tune(r);this.zeroGradients()}get parameters(){return this.#t.tensors.parameters}get gradients(){return this.#t.tensors.gradients}get lossSum(){return this.#t.tensors.lossSum}get lossScale(){return this.#t.tensors.inputs.lossScale}get slotRows(){return this.#t.tensors.inputs.slotRows}get operands(){return this.#t.tensors.operands}load(e){os(this.#e,this.config,{parameters:this.parameters,weights:e}),this.#s?.load(e),this.#r.length>0&&this.#r.run()}async weights(){let e=await pg(this.#e,this.config,this.parameters);return this.#s?.save(e),e}zeroGradients(){this.#i.clear();let e=this.#e.device.createCommandEncoder({label:"zero gradients"});for(let{buffer:r}of this.gradients.values())e.clearBuffer(r);e.clearBuffer(this.lossSum.buffer),this.#e.device.queue.submit([e.finish()])}accumulate(e,r,o){b(this.#n,"a model without training cannot accumulate gradients"),this.#l(e,r,{isTraining:!0,ofTokens:o}),this.#n.run()}accumulateShare(e,r,{share:o,afterPart:n}){b(this.#n,"a model without training cannot accumulate gradients");let{sequenceLength:s}=this.extent,i=e.tokens.length/s,a=this.#s&&lo(e,this.#s,{sequenceLength:s,isTraining:!0});a&&this.#i.claim(a),this.#l(Mm(e,i,o),r,{isTraining:!0,ofTokens:a&&Nt(a,i,o)}),this.#n.runInParts(n)}usedRows(e){return e==="wpe.weight"?this.#i.size:L(this.gradients,e).shape[0]}async profile(e,r){return b(this.#n,"a model without training cannot accumulate gradients"),this.#l(e,r,{isTraining:!0}),[...(await this.#t.teacher?.profile()??[]).map(s=>({...s,label:`teacher's ${s.label}`})),...await this.#n.profile()]}#a(e,r={}){this.#l(e,0,r),this.#o.run()}async evaluateLosses(e){return this.#a(e),(await this.#e.read(this.#t.tensors.head.losses))[0]}async logProbabilities(e,r){if(b(r.every(s=>s<this.#u),"a position is outside the batch"),r.length===0)return new Float32Array;this.#a(e);let{config:o,tensors:n}=this.#t;return await fg(this.registry,{config:o,logits:n.head.logits,positions:r})}asTeacher(e){return{logits:this.#t.tensors.head.logits,softcap:this.config.softcap,weight:e,forward:r=>this.#a(r,{isTraining:!0}),profile:()=>this.#o.profile()}}destroy(){for(let e of this.#t.tensors.all)e.buffer.destroy()}get#u(){return this.extent.batchSize*this.extent.sequenceLength}#c(){let e=new ze(this.registry,"forward and backward");mr(e,this.#t),ja(e,this.#t);let{head:r,lossSum:o}=this.#t.tensors;return ng(e,{x:r.losses,length:this.#u,out:o,accumulate:!0}),ig(e,this.#t),e}#l(e,r,o={}){let{config:n,extent:s}=this,i=this.#f(e,o);Um(this.#e,this.#t.tensors.inputs,{config:n,extent:s,batch:e,weight:r,rows:i}),o.isTraining&&this.#t.teacher?.forward(e)}#f(e,r){if(!this.#s)return;let{sequenceLength:o}=this.extent,{isTraining:n=!1}=r,s=r.ofTokens??lo(e,this.#s,{sequenceLength:o,isTraining:n});if(!n||!this.#n)return{ofTokens:s};let i=this.#i.places(s);return{ofTokens:s,places:i,ofSlots:this.#i.rows}}};var Ka=class{gpu;config;members;state;hyper;constructor(e,r,o){this.gpu=e,this.config=r,this.members=o,this.state=new Map,this.hyper=e.tensor("AdamW numbers",[po]);for(let{name:n,parameter:s}of o)for(let i of["exp_avg","exp_avg_sq"])this.state.set(`${n}.${i}`,e.tensor(`${n}.${i}`,s.shape))}add(e,r){for(let{name:o,parameter:n,gradient:s}of this.members){let i=Te(n);Ym(e,{parameter:n,gradient:s,...this.moments(o),hyper:this.hyper,clip:r,length:i})}}prepare(e,r){let{learningRate:o,beta1:n,beta2:s,epsilon:i,weightDecay:a}=this.config,u=Vm({learningRate:o*r.learningRate,beta1:n,beta2:s,epsilon:i,weightDecay:a*r.weightDecay,step:e+1});this.gpu.write(this.hyper,u)}moments(e){return{expAvg:L(this.state,`${e}.exp_avg`),expAvgSq:L(this.state,`${e}.exp_avg_sq`)}}},ss=class extends Ka{slotRows;constructor(e,r,o,n){super(e,r,o),this.slotRows=n;for(let{name:s,parameter:i}of o)this.state.set(`${s}.num_updates`,e.tensor(`${s}.num_updates`,[i.shape[0]]))}add(e,r){for(let{name:o,parameter:n,gradient:s}of this.members){b(this.slotRows,`${o} has no slots`);let[i,a]=s.shape;Xm(e,{slotRows:this.slotRows,gradient:s,parameter:n,...this.moments(o),numUpdates:L(this.state,`${o}.num_updates`),hyper:this.hyper,clip:r,slots:i,width:a})}}prepare(e,r){super.prepare(0,r)}};function mg(t,e,r){let o=Math.round(e*r.warmupShare),n=o>0?(t+1)/o:1,s=r.schedule==="cosine",i=s?e-o:Math.round(e*r.decayShare),a=i>0?Math.max(0,Math.min(1,(e-t)/i)):1,u=s?(1-Math.cos(Math.PI*a))/2:a;return Math.min(1,n,r.finalRatio+(1-r.finalRatio)*u)}var R0=128,M0=32;function hg(t,e){let r=Math.min(e,R0);return{sequenceLength:r,batchSize:Math.min(M0,wg(t,r).length)}}function gg(t,e,{batchSize:r,sequenceLength:o}){let n=wg(t,o),s=[];for(let i=0;i<n.length;i+=r){let a=I0(n.slice(i,i+r),{batchSize:r,sequenceLength:o});s.push({batch:a,rows:lo(a,e,{sequenceLength:o,isTraining:!1})})}return s}function wg(t,e){let r=[],o=0;for(let n of t){let s=dt(n,null);if(s>e)throw new y(`Cannot adapt: a measurement takes ${s} tokens, the model's sequence of ${e} or fewer were wanted; use a model with longer sequences`);s>o&&(r.push([]),o=e),r[r.length-1].push(n),o-=s}return r}function I0(t,{batchSize:e,sequenceLength:r}){let o=e*r,n={tokens:new Uint16Array(o),targets:new Uint16Array(o),lossMask:new Uint8Array(o),segmentStart:new Uint16Array(o)};for(let s=0;s<e;s++){let i=s*r,a=i;for(let u of t[s]??[]){let c=new Ce(n.tokens,a).write(u,Le);n.segmentStart.fill(a-i,a,a+c),n.targets.set(n.tokens.subarray(a+1,a+c),a),n.lossMask.fill(1,a+c-3,a+c-1),a+=c}n.segmentStart.fill(a-i,a,i+r)}return n}var N0={kind:"adamw",beta1:.9,beta2:.95,epsilon:1e-8,weightDecay:0},L0={schedule:"wsd",warmupShare:0,decayShare:1,finalRatio:.1},C0=4,D0=1e30;async function _g(t,e,r,o){let n=[];try{return await B0(t,e,r,{...o,own:s=>n.push(s)})}finally{for(let s of n)s.destroy()}}async function B0(t,e,r,{own:o,...n}){let{gpu:s}=t,{width:i,sequenceLength:a}=e.config,u=r.free.length,c=hg(r.measurements,a),l=new Ga(r,e),f=Z0(r,c,l),d=await ns.create(t,l.config(),{...c,training:!0,freeRows:u});o(d),d.load(l.weights());let p=L(d.parameters,ye),m=L(d.gradients,ye),h=new ss(s,{...N0,learningRate:n.learningRate},[{name:ye,parameter:p,gradient:m}],d.slotRows),g=s.tensorFrom("anchors",[u,i],l.starts),_=s.tensorFrom("largest drifts",[u],Float32Array.from(r.free,({isKnown:F})=>F?n.maxDrift:D0)),x=s.tensorFrom("no clipping",[4],Float32Array.of(1,0,0,0));for(let{buffer:F}of[g,_,x,...h.state.values()])o(F);let O=new ze(t,"update of rows");h.add(O,x),Qm(O,{table:p,anchors:g,limits:_,rows:u,width:i}),await t.ready();let I=Math.ceil(f[0].length/C0),E=(F,qe)=>F.filter((ce,yr)=>yr%I===qe%I),R=F=>{let qe=F.reduce((ce,{batch:yr})=>ce+yr.lossMask.reduce((Iw,Nw)=>Iw+Nw,0)/2,0);d.zeroGradients();for(let{batch:ce,rows:yr}of F)d.accumulate(ce,1/(2*qe),yr);return qe},Y=async()=>{let F=R(E(f[0],0));return(await s.read(d.lossSum))[0][0]/F},Ue=await Y();for(let F=0;F<n.steps;F++){n.signal?.throwIfAborted();let qe=I===1?F:F+Math.floor(F/I);R(E(f[qe%f.length],F));let ce=mg(F,n.steps,L0);h.prepare(F,{learningRate:ce,weightDecay:0}),O.run(),await s.finish(),n.onProgress?.(F+1)}let nt=await Y(),st=(await s.read(p))[0].slice(0,u*i),xt=Qh(new Map([[ye,st]]),Jh);if(xt)throw new y(`Cannot adapt: after the fit ${xt}; lower --learning-rate`);return{values:st,lossBefore:Ue,lossAfter:nt}}var Ga=class{starts;#e=new Map;#t;constructor({free:e},r){let{width:o}=r.config;this.#t=r,this.starts=new Float32Array(e.length*o),e.forEach(({row:n,start:s},i)=>{this.#e.set(n,i),this.starts.set(s,i*o)})}translate(e){return Uint32Array.from(e,r=>{if(r===z)return z;let o=this.#e.get(r)??this.#e.size;return this.#e.set(r,o),o})}config(){let e={rows:this.#e.size,seed:0,dropShare:0};return{...this.#t.config,prefixVectors:e,pairVectors:null,coordinates:null}}weights(){let{config:{width:e},weights:r}=this.#t,o=r.get(ye)??new Float32Array,n=new Float32Array(this.#e.size*e);for(let[u,c]of this.#e)n.set(o.subarray(u*e,(u+1)*e),c*e);n.set(this.starts);let s=new Float32Array(2*this.#e.size),i=new Map(r).set(ye,n).set(Ee,s),a=vn(this.config());return new Map([...i].filter(([u])=>a.has(u)))}};function Z0(t,e,r){let{measurements:o,addressRows:n}=t,s=n.config.prefixVectors?.rows??0,a=(o.some(({timeS:u})=>u!==null)?[0,1]:[0]).map(u=>{let c=o.map((l,f)=>f%2===u?l:{...l,timeS:null});return gg(c,n,e).map(({batch:l,rows:f})=>({batch:l,rows:r.translate(f),withoutPairs:r.translate(f.map(d=>d>=s?z:d))}))});return!n.config.pairVectors||s===0?a:[...a,...a.map(u=>u.map(({batch:c,withoutPairs:l})=>({batch:c,rows:l})))]}function xg(t,e,{addresses:r,adaptedNodes:o}){let{coordinates:n}=t,s=new Map;if(!n)return new Uint32Array;let i=[...U0(e,r)].map(c=>({...c,node:t.nodeOf(c.address)})).filter(({node:c})=>o.has(c)||!n.hasPlace(c)),a=new Set(i.map(({node:c})=>c)),u=[];for(let{address:c,rttsMs:l}of i){let f=[...l.values()].map(({other:p,ms:m})=>({node:t.nodeOf(p),rttMs:q0(m)})),d=n.locate(f,a);d&&u.push({address:c,place:d})}for(let{address:c,place:l}of u){let f=t.claimNode(c);f!==z&&s.set(f,l)}return n.put(s),Uint32Array.from(s.keys()).sort()}function U0(t,e){let r=new Map;for(let{source:o,destination:n,rttCode:s}of t)for(let[i,a]of[[o,n],[n,o]]){let u=ve(i),c=ve(a);if(s===null||u===c||!e.has(u))continue;let{rttsMs:l}=r.getOrInsertComputed(u,()=>({address:i,rttsMs:new Map}));l.getOrInsertComputed(c,()=>({other:a,ms:[]})).ms.push(Jo(s))}return r.values()}function q0(t){return t.toSorted((e,r)=>e-r)[t.length-1>>1]}function yg(t){let e=t.flatMap(({source:r,destination:o})=>[r,o]);return new Map(e.map(r=>[ve(r),r]))}function j0({source:t,destination:e},r){return r.has(ve(t))||r.has(ve(e))}function bg(t,e,r=new Set){let o=Wa(t);return[...yg(e)].filter(([,n])=>{let s=o.rowOfAddress(n);return s===z||r.has(s)}).map(([n])=>n)}function vg(t,e,r){let{addresses:o,adapted:n}=r,s=Wa(t),i=Wa(t),a=new Map,u=[],c=[],l=yg(e),f=K0(t),d=[...l.values()].map(h=>({address:h,row:s.rowOfAddress(h)})).filter(({row:h})=>h!==z),p=(h,g,_)=>{h===z||a.has(h)||a.set(h,{row:h,isKnown:!g&&!n.rows.has(h),start:_??f(h)})};for(let[h,g]of l){if(!o.has(h))continue;let _=s.rowOfAddress(g)===z,x=i.rowOfAddress(g,{claims:!0});p(x,_,_?F0(g,d,f):void 0),(x===z?u:c).push(h)}let m=e.filter(h=>j0(h,o));for(let{source:h,destination:g}of m){let _=s.rowOfPair(h,g)===z;p(i.rowOfPair(h,g,{claims:!0}),_)}return{addressRows:i,free:[...a.values()],measurements:m,addresses:c,withoutRow:u,located:xg(i,m,{addresses:o,adaptedNodes:n.nodes})}}function F0(t,e,r){let o=e.filter(u=>u.address.length===t.length),n=o.map(u=>H0(u.address,t)),s=n.reduce((u,c)=>Math.max(u,c),0),i=o.filter((u,c)=>n[c]===s);if(i.length===0)return;let a=new Float64Array(r(i[0].row).length);for(let{row:u}of i)r(u).forEach((c,l)=>a[l]+=c);return Float32Array.from(a,u=>u/i.length)}function H0(t,e){let r=t.findIndex((o,n)=>o!==e[n]);return r<0?t.length:r}function Wa({config:t,weights:e}){let r=new ht(t);return r.load(e),r}function K0({config:{width:t},weights:e}){let r=L(e,ye);return o=>r.slice(o*t,(o+1)*t)}var G0={steps:20,learningRate:.1,maxDrift:1};async function kg(t,e,r,o={}){W0(e);let n=r.filter(({rttCode:h})=>h!==null),{adapted:s={rows:new Set,nodes:new Set},addresses:i=bg(e,n,s.rows),...a}=o,u=vg(e,n,{addresses:new Set(i),adapted:s}),c=r.length-n.length,l={addresses:u.addresses,withoutRow:u.withoutRow,numFailed:c};if(u.free.length===0){let h=Sg(e,u,new Float32Array);return{...l,delta:h,numMeasurements:0,lossBefore:null,lossAfter:null}}let{values:f,lossBefore:d,lossAfter:p}=await _g(t,e,u,{...G0,...a}),m=Sg(e,u,f);return{...l,delta:m,numMeasurements:u.measurements.length,lossBefore:d,lossAfter:p}}function Sg({config:t,weights:e},r,o){let{width:n}=t;for(let{source:a,destination:u,rttCode:c,timeS:l}of r.measurements)c!==null&&r.addressRows.remember(r.addressRows.rowOfPair(a,u),{rttCode:c,timeS:l});let s=L(e,ye).slice();r.free.forEach(({row:a},u)=>s.set(o.subarray(n*u,n*(u+1)),n*a));let i=new Map(e).set(ye,s);return r.addressRows.save(i),Vh(t,i,Uint32Array.from(r.free,({row:a})=>a).sort(),r.located)}function W0({config:t,weights:e}){if(!(xe(t)>0&&e.has(Ee)))throw new y(`Cannot adapt the model: it has no rows of addresses, one with them was wanted; train one with --set 'model.prefixVectors={"rows":65536}'`)}var is=class{config;weights;rows;nodes;constructor(e,r,o){this.config=e,this.weights=r,this.rows=new Set(o?.rows),this.nodes=new Set(o?.nodes)}async fit(e,r,o){let n=await kg(e,this,r,{...o,adapted:this});this.weights=Wh(this.config,this.weights,n.delta);for(let s of n.delta.rows)this.rows.add(s);for(let s of n.delta.coordinates.nodes)this.nodes.add(s);return n}};async function Eg(t,e){let r=t.onSubmittedWorkDone(),o=performance.now();return await r,((Symbol.for("Deno.privateCustomInspect")in t?o:performance.now())-e)/1e3}var V0=["maxStorageBufferBindingSize","maxBufferSize","maxComputeWorkgroupStorageSize","maxComputeInvocationsPerWorkgroup","maxComputeWorkgroupSizeX","maxStorageBuffersPerShaderStage"],Ag=/llvmpipe|lavapipe|swiftshader|warp|basic render/i,Va=new Set;globalThis.addEventListener("unload",()=>wo.blockUntilIdle());var wo=class t{device;info;#e;#t;#r;constructor(e,r){this.device=e,this.info=r,this.#r=0,Va.add(new WeakRef(this)),e.lost.then(o=>this.#e=o.message||"device lost"),e.addEventListener("uncapturederror",o=>{o.preventDefault(),this.#t??=o.error.message})}static async open(e={}){let r=await navigator.gpu?.requestAdapter({powerPreference:"high-performance"});if(!r)throw new y("Cannot use WebGPU: no adapter was found, a GPU or software driver was wanted; run sh setup.sh to install one");if(Y0(r))throw new y(`Cannot use WebGPU: no adapter was found besides OpenGL in software (${r.info.description}), a Vulkan driver was wanted; run sh setup.sh to install one`);let o={};for(let d of V0)o[d]=r.limits[d];let n=e.subgroups??!0?await Ya(r,o,["subgroups"])??await Ya(r,o,[]):await Ya(r,o,[]);if(!n)throw new y("Cannot use WebGPU: the adapter gives no device; close other GPU programs and retry");let s=n.features.has("subgroups"),i=r.info,{description:a,vendor:u,subgroupMinSize:c,subgroupMaxSize:l}=i,f=a||i.device||`${u} ${i.architecture}`.trim()||"unnamed adapter";return new t(n,{name:f,vendor:u,subgroupSize:s&&c===l?c:void 0,enablesSubgroups:s&&r.features.has("subgroups"),isSoftware:Ag.test(`${f} ${a} ${u}`)})}tensor(e,r,o="f32"){let n=In(r,o),s=this.device.createBuffer({label:e,size:n,usage:GPUBufferUsage.STORAGE|GPUBufferUsage.COPY_SRC|GPUBufferUsage.COPY_DST});return this.#r+=n,{label:e,shape:[...r],dtype:o,offsetBytes:0,buffer:s}}get allocatedBytes(){return this.#r}tensorFrom(e,r,o){let n=this.tensor(e,r);return this.write(n,o),n}write(e,r){b(r.byteLength<=He(e),`${r.byteLength} bytes do not fit ${e.label}`),this.device.queue.writeBuffer(e.buffer,e.offsetBytes,r)}async read(...e){return(await this.#n(e)).map((r,o)=>e[o].dtype==="f16"?Float32Array.from(new Float16Array(r)):new Float32Array(r))}async readUint32(e){return new Uint32Array((await this.#n([e]))[0])}async finish(){await this.device.queue.onSubmittedWorkDone(),this.check()}get fault(){return this.#e?`the GPU device was lost (${this.#e})`:this.#t&&`WebGPU: ${this.#t}`}check(){if(this.#e)throw new y(`Cannot go on: ${this.fault}; run again`);if(this.#t)throw new Error(`Internal error: ${this.fault}`)}async timeS(e){let r=performance.now();return e(),await Eg(this.device.queue,r)}close(){this.#o(),this.device.destroy()}static blockUntilIdle(){for(let e of Va){let r=e.deref();r?r.#o():Va.delete(e)}}#o(){this.#e||this.device.queue.onSubmittedWorkDone().catch(()=>{})}[Symbol.dispose](){this.close()}async#n(e){let r=[],o=0;for(let s of e)r.push(o),o+=Math.ceil(He(s)/16)*16;let n=this.device.createBuffer({label:"readback",size:Math.max(16,o),usage:GPUBufferUsage.MAP_READ|GPUBufferUsage.COPY_DST});try{let s=this.device.createCommandEncoder({label:"readback"});e.forEach((u,c)=>s.copyBufferToBuffer(u.buffer,u.offsetBytes,n,r[c],Math.ceil(He(u)/4)*4)),this.device.queue.submit([s.finish()]),await n.mapAsync(GPUMapMode.READ).catch(async u=>{throw await this.finish(),u});let i=n.getMappedRange(),a=e.map((u,c)=>i.slice(r[c],r[c]+He(u)));return this.check(),a}finally{n.destroy()}}};function Y0(t){return t.limits.maxBindingsPerBindGroup===4294967295&&Ag.test(`${t.info.description} ${t.info.vendor}`)}async function Ya(t,e,r){try{return await t.requestDevice({requiredLimits:e,requiredFeatures:r})}catch{return}}var Ja="//! ";function Ze(t,e){return`${Ja}${t}
${e}`}function Xa(t){return t.replace(/\/\/(?!!).*$/gm,"")}function as(t,e,r,o){let n=e.split(`
`).slice(0,r-1),s=n.findLastIndex(a=>a.startsWith(Ja)),i=n[s]?.slice(Ja.length);return new N(t,o,r-1-s,i)}function Tg(t,e){let r=Xa(e),o=[...r.matchAll(/@group\((\d+)\)\s*@binding\((\d+)\)\s*var<([^>]*)>\s*(\w+)/g)].map(([,i,a,u,c])=>{if(i!=="0")throw new N(t,`binding ${c} is in group ${i}, 0 was wanted`);let[l,f="read"]=u.split(",").map(d=>d.trim());return{name:c,index:Number(a),access:l==="uniform"?"uniform":f}}),s=(/struct\s+Params\s*\{([^}]*)\}/.exec(r)?.[1]??"").split(",").map(i=>i.trim()).filter(Boolean).map(i=>{let a=/^(\w+)\s*:\s*(u32|i32|f32)$/.exec(i);if(!a)throw new N(t,`field "${i}" of Params is not NAME: u32 | i32 | f32`);return{name:a[1],type:a[2]}});return{bindings:o,params:s,overrides:[...r.matchAll(/^\s*override\s+(\w+)/gm)].map(i=>i[1]),usesLanes:/\b(lane_sum|lane_max|LANES)\b/.test(r),usesSubgroups:/\bsubgroup[A-Z]\w*\s*\(/.test(r)}}var J0=`
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
`;function $g(t,e,r){return r.length===0?e:r.reduce((n,s)=>Og(t,X0(t,n,s),s),Xa(e))+J0}function X0(t,e,r){let o=new RegExp(`(var<storage[^>]*>\\s*${r}\\s*:\\s*)array<vec4f>`);if(!o.test(e))throw new N(t,`${r} is no array of vec4f, it cannot be bound to an f16 tensor`);return e.replace(o,"$1array<vec2u>")}function Og(t,e,r,o=""){let n="",s=0;for(let i of e.matchAll(new RegExp(`(?<![\\w.])${r}\\b(?!\\s*:\\s*array<vec2u>)`,"g"))){if(i.index<s)continue;let a=i.index+r.length;if(e[a]!=="["){let f=o+e.slice(0,a),d=`${r} is used in another way than ${r}[i], it cannot be f16`;throw as(t,f,f.split(`
`).length,d)}let u=zg(e,a+1,"]"),c=e.slice(i.index,u+1),l=/^\s*([-+*/]?)=(?!=)\s*/.exec(e.slice(u+1));if(n+=e.slice(s,i.index),l){let[f,d]=l,p=u+1+f.length;s=zg(e,p,";");let m=Og(t,e.slice(p,s),r,o+e.slice(0,p)),h=d?`unpack_half(${c}) ${d} (${m})`:m;n+=`${c} = pack_half(${h})`}else s=u+1,n+=`unpack_half(${c})`}return n+e.slice(s)}function zg(t,e,r){let o=0;for(let n=e;n<t.length;n++){if(o===0&&t[n]===r)return n;"([{".includes(t[n])&&o++,")]}".includes(t[n])&&o--}return t.length}var Pg=`// Prelude of the row kernels where the adapter has subgroups: a workgroup is exactly one subgroup of LANES lanes.
//   lane_sum(x, lane) = sum of x over the workgroup's lanes, the same value in every lane; lane_max likewise.
// LANES is written before this text by the registry. Calls must be in uniform control flow.
fn lane_sum(x: f32, lane: u32) -> f32 {
  return subgroupAdd(x);
}

fn lane_max(x: f32, lane: u32) -> f32 {
  return subgroupMax(x);
}
`;var Rg=`// Prelude of the row kernels where the adapter has no subgroups: a tree in workgroup memory, a fixed order.
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
`;var Mg=`// y[r, :] = x[r, :] / sqrt(mean(x[r, :]^2) + eps), eps = 2^-23 (the epsilon of float32), no learned scale.
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
`;var Ig=`// What becomes of a matrix product p on its way out: STORE c = p; ACCUMULATE c += p; ADD c = d + p; ACTIVATE c = f(p);
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
`;var Ng=`// One step of AdamW: g = clip gradient; m += (1 - beta1) (g - m); v += (1 - beta2) (g^2 - v);
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
`;var Lg=`// One step of AdamW for some rows of a table, the others are left as they are. For slot s < slot_rows[0], of row
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
`;var Cg=`// x[r, :] += sum over k < ROWS_PER_TOKEN of table[indexes[r ROWS_PER_TOKEN + k], :], of the indexes below table_rows
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
`;var Dg=`// From the sum of squares of all gradients, what the optimizer does with this step:
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
`;var Bg=`// y = x, between tensors that are stored differently: the f16 copies of weights.
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
`;var Zg=`// d_table[v, :] += sum over the rows r with tokens[r] == v of dx[r, :]
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
`;var Ug=`// x[r, :] = table[tokens[r], :]
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
`;var qg=`// C = op(A) op(B), added to something or through an activation on its way out, where op transposes or not.
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
`;var jg=`// C = op(A) op(B), added to something or through an activation on its way out, where op transposes or not; for any adapter.
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
`;var Fg=`// g = clip gradient; momentum += (1 - mu) (g - momentum); x = g + mu (momentum - g): Nesterov's momentum as Muon has it.
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
`;var Hg=`// y = x / max(norm, epsilon) for each matrix of a stack, norm = sqrt(sum_of_squares): the Frobenius norm bounds the largest singular value by 1.
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
`;var Kg=`// parameter = parameter (1 - lr decay) - lr shape_factor x; nothing changes if clip == 0.
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
`;var Gg=`// losses[r] = -log softmax(z[r, :])[targets[r]] where loss_mask[r] != 0, else 0, with z = s tanh(logits / s) if SOFTCAP,
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
`;var Wg=`// Keeps rows of a table near where they were: for row r < params.rows, d = table[r, :] - anchors[r, :]; where |d| >
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
`;var Vg=`// out[i, :] = log softmax(z[r, :]), r = row_index[i], with z = s tanh(logits / s) if SOFTCAP, else z = logits; columns from
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
`;var Yg=`// dx of y = rope(norm(x)) for each head, given dy: dz is dy turned back, dx = s (dz - x s^2 mean(x dz)), or dz if not NORM.
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
`;var Jg=`// y = rope(norm(x)) of each head: norm(x) = s x with s = 1 / sqrt(mean(x^2) + eps) over its D dims, or s = 1 if not NORM;
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
`;var Xg=`// dx of y = shift_keys(x, x): a row's shifted quarters went to the rows that it is the previous one of, itself or the next.
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
`;var Qg=`// y = x, but for the 2nd and the 4th quarter of each head, which come from another token:
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
`;var ew=`// c = the sum of the splits of a matrix product, or c += it, for products whose steps of k are divided over workgroups.
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
`;var tw=`// partials[first + g] = the sum of x (or of x^2 if SQUARE) over the g-th of num_partials equal parts of x.
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
`;var rw=`// dx[r, :] (+)= s (dy[r, :] - x[r, :] s^2 mean(x[r, :] dy[r, :])) for y = s x, s = 1 / sqrt(mean(x^2) + eps).
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
`;var ow=`// dv[j] = sum_t p[t, j] d_out[t] and dk[j] = sum_t ds[t, j] q[t] / sqrt(D) over the queries t that see key j, those with
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
`;var nw=`// dv[j] = sum_t p[t, j] d_out[t] and dk[j] = sum_t ds[t, j] q[t] / sqrt(D) over the queries t that see key j, those with
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
`;var sw=`// dq[t] = sum_j ds[t, j] k[j] / sqrt(D) with ds[t, j] = p[t, j] (d_out[t] . v[j] - delta[t]), p[t, j] =
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
`;var iw=`// dq[t] = sum_j ds[t, j] k[j] / sqrt(D) with ds[t, j] = p[t, j] (d_out[t] . v[j] - delta[t]), p[t, j] =
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
`;var aw=`// out[r] = sum_j p[r, j] v[j], p[r, :] = softmax(q[r] . k[j] / sqrt(D)) for each head, where row r attends to the keys of
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
`;var uw=`// out[r] = sum_j p[r, j] v[j], p[r, :] = softmax(q[r] . k[j] / sqrt(D)) for each head, where row r attends to the keys of
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
`;var cw=`// out[t] = sum_j p[t, j] v[j], p[t, :] = softmax(q[t] . k[j] / sqrt(D)) over segment_start[t] <= j <= t, for each head;
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
`;var lw=`// out[t] = sum_j p[t, j] v[j], p[t, :] = softmax(q[t] . k[j] / sqrt(D)) over segment_start[t] <= j <= t, for each head;
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
`;var fw=`// What the attention kernels for any adapter share; lib/gpu/kernels.ts appends it to each of them.
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
`;var dw=`// What the attention kernels for subgroups of 8 lanes share; lib/gpu/kernels.ts appends it to each of them.
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
`;var pw=`// What the forward attention kernels for subgroups of 8 lanes share besides attention_slots_subgroup8.wgsl: loads of tiles
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
`;var gw=Ze("lanes_subgroup",Pg),ww=Ze("lanes_workgroup",Rg),mw=Ze("gemm_epilogue",Ig),us=Ze("attention_slices_tiled",fw),cs=Ze("attention_slots_subgroup8",dw),hw=Ze("attention_softmax_subgroup8",pw),_w={cross_entropy:Gg,log_probabilities:Vg,qk_norm_rope_backward:Yg,qk_norm_rope_forward:Jg,rms_norm_forward:Mg,adamw:Ng,adamw_rows:Lg,add_rows:Cg,clip_factor:Dg,copy:Bg,embedding_backward:Zg,embedding_forward:Ug,gemm_subgroup8:mw+Ze("gemm_subgroup8",qg),gemm_tiled:mw+Ze("gemm_tiled",jg),limit_rows:Wg,muon_momentum:Fg,muon_normalize:Hg,muon_update:Kg,reduce_partials:tw,shift_keys_backward:Xg,shift_keys_forward:Qg,sum_splits:ew,rms_norm_backward:rw,attention_backward_key_subgroup8:ow+cs,attention_backward_key_tiled:nw+us,attention_backward_query_subgroup8:sw+cs,attention_backward_query_tiled:iw+us,attention_decode_subgroup8:aw+cs+hw,attention_decode_tiled:uw+us,attention_forward_subgroup8:cw+cs+hw,attention_forward_tiled:lw+us};var LS=64,ls=class{gpu;#e;#t;#r;#o;constructor(e,r={}){this.gpu=e,this.#e=new Map,this.#t=[],this.#o=new Map(Object.entries({..._w,...r.sources}))}get lanes(){return this.gpu.info.subgroupSize??LS}get unusedOutput(){return this.#r??=this.gpu.tensor("unused output",[4])}get numPipelines(){return this.#e.size}get(e,r={},o=[]){let n=`${e} ${JSON.stringify([Object.entries(r).sort(),[...o].sort()])}`,s=this.#e.get(n);return s||(s=this.#n(e,r,o),this.#e.set(n,s)),s}source(e){let r=this.#o.get(e);if(r===void 0)throw new N(e,"it is unknown; register it in lib/gpu/kernels.ts");return r}async ready(){await Promise.all(this.#t.splice(0)),this.gpu.check()}#n(e,r,o){let n=this.source(e),s=Tg(e,n);for(let d of Object.keys(r))if(!s.overrides.includes(d))throw new N(e,`override ${d} is unknown`);if(s.usesSubgroups&&this.gpu.info.subgroupSize===void 0)throw new N(e,"it needs subgroups, the adapter has none; use its fallback kernel");let{device:i}=this.gpu,a=this.#s(s)+Ze(e,$g(e,n,o));i.pushErrorScope("validation");let u=i.createShaderModule({label:e,code:a}),c=i.createBindGroupLayout({label:e,entries:s.bindings.map(({index:d,access:p})=>({binding:d,visibility:GPUShaderStage.COMPUTE,buffer:{type:p==="uniform"?"uniform":p==="read"?"read-only-storage":"storage"}}))}),l=i.createComputePipeline({label:e,layout:i.createPipelineLayout({bindGroupLayouts:[c]}),compute:{module:u,entryPoint:"main",constants:r}}),f=i.popErrorScope();return this.#t.push(CS(e,u,f,a)),{name:e,interface:s,pipeline:l,layout:c}}#s({usesLanes:e,usesSubgroups:r}){let{subgroupSize:o,enablesSubgroups:n}=this.gpu.info,s=n&&(e||r)?`enable subgroups;
`:"";return e?`${s}const LANES = ${this.lanes}u;
${o?gw:ww}`:s}};async function CS(t,e,r,o){let s=(await e.getCompilationInfo()).messages.find(a=>a.type==="error");if(s)throw as(t,o,s.lineNum,s.message);let i=await r;if(i)throw new N(t,i.message)}var fs=class{#e=[];#t=0;#r=[];#o=0;#n=[];get children(){return this.#r}get numRows(){return this.#o}get numSteps(){return this.#n.length}begin(e){this.#e=e,this.#r=[],this.#o=0}fork(e,r){b(e.length===this.#e.length,`${e.length} numbers of children`),this.#t=r,this.#n=[],this.#s(e)}branch(e){let r=e.every((n,s)=>s===0||e[s-1]<=n);b(r&&e[e.length-1]<this.#o,`parents ${e}`);let o=this.#r.map(({firstRow:n,endRow:s})=>e.reduce((i,a)=>a>=n&&a<s?i+1:i,0));this.#s(o),this.#n=this.#n.map(n=>e.map(s=>n[s]))}nextPositions(e){let r=new Uint32Array(e);for(let{firstKey:o,endKey:n,firstRow:s,endRow:i}of this.#r)r.fill(n-o+this.numSteps,s,i);return r}previousKeys(e){let r=new Uint32Array(e),o=this.#n.at(-1);if(o)r.set(o);else for(let{endKey:n,firstRow:s,endRow:i}of this.#r)r.fill(n-1,s,i);return r}append(e){this.#n.push(Uint32Array.from({length:this.#o},(r,o)=>e+o))}appendedKeys(e){let r=new Uint32Array(this.numSteps*e);return this.#n.forEach((o,n)=>r.set(o,n*e)),r}#s(e){let r=this.#t,o=0;this.#r=this.#e.map(({firstKey:n,endKey:s},i)=>{b(r<s-n,`a prompt has no ${r} tokens and one before`);let a=o+e[i],u={firstKey:n,endKey:s-r,firstRow:o,endRow:a};return o=a,u}),this.#o=o}};function xw(t,e){let r=0;return e.map((o,n)=>{for(;o>=t[r].endKey;)r++;return{firstKey:t[r].firstKey,endKey:o+1,firstRow:n,endRow:n+1}})}var ds=class{#e;#t;#r;#o=[];#n=[];#s=[];constructor(e,r,o){this.#e=e,this.#t=r,this.#r=o}load(e){this.#t.load(e)}writePrompts(e,r,o=[]){this.#o=e,this.#n=o;let n=new Uint32Array(r*Q).fill(z),s=0;e.forEach((i,a)=>{let u=new gt(this.#t);for(let c=0;c<i.length;c++,s+=Q)u.read(i[c],n,s,this.#i(a,c))}),this.#e.write(this.#r,n)}fork(e,r){let o=new Uint32Array(Q);this.#s=this.#o.flatMap((n,s)=>{let i=new gt(this.#t);for(let a=0;a<n.length-r;a++)i.read(n[a],o,0,this.#i(s,a));return Array.from({length:e[s]},()=>i.clone())})}branch(e){this.#s=Array.from(e,r=>this.#s[r].clone())}writeStep(e,r){let o=new Uint32Array(r*Q).fill(z);this.#s.forEach((n,s)=>n.read(e[s],o,s*Q)),this.#e.write(this.#r,o)}#i(e,r){let o=this.#n[e],n=r===this.#o[e].length-1;return o&&n?{isTraining:!1,context:0,recent:o}:void 0}};var yw="lower the decoder's maxPromptTokens, maxRows or maxSteps",ps=class t{registry;config;extent;#e;#t;#r;#o;#n;constructor(e,r,o,n){this.registry=e,this.config=r,this.extent=o,this.#t=new Map,this.#r=new fs,this.#o=0,this.#e=n;let{addressRows:s}=n.inputs;this.#n=s&&new ds(e.gpu,new ht(r),s);let{rowIndex:i}=n.chosen;e.gpu.write(i,Uint32Array.from({length:i.shape[0]},(a,u)=>u))}static async create(e,{config:r,weights:o},n){let{memoryLimitBytes:s,...i}=n,a=va(r,i);if(a>s)throw new y(`Cannot allocate the decoder: it takes ${tt(a)} besides the weights, at most ${tt(s)} was wanted; ${yw}, or raise its memory limit`);let{gpu:u}=e,c=await Nn(u,f=>jn(r,i,f),{what:"the decoder",remedy:yw}),l=new t(e,r,i,c);return l.load(o),l}load(e){let{parameters:r}=this.#e;os(this.registry.gpu,this.config,{parameters:r,weights:e}),this.#n?.load(e)}async prefill(e,r={}){let{numLast:o=1,recents:n}=r,{config:s}=this,{gpu:i}=this.registry,a=this.#e,u=e.reduce((x,{length:O})=>x+O,0);this.#d("prompt tokens",u,this.extent.maxPromptTokens);let c=_t(u),l=new Uint32Array(c),f=new Uint32Array(c),d=new Uint32Array(c),p=[],m=[],h=0;for(let x of e){let O=o===1/0?x.length:o;b(x.length>=O,`a prompt of ${x.length} tokens has no ${o} last ones`),this.#f(x.length-1);let I=h+x.length;l.set(x,h);for(let E=h;E<I;E++)f[E]=E-h;d.fill(h,h,I);for(let E=I-O;E<I;E++)p.push(E);m.push({firstKey:h,endKey:I}),h=I}this.#r.begin(m),this.#n?.writePrompts(e,c,n),d.fill(h,h),this.#u(l,f),i.write(a.inputs.segmentStart,d),this.#a(()=>Dn(d,c)),i.write(a.chosen.positions,Uint32Array.from(p));let g=_t(p.length),_=g<=Math.min(c/2,a.tiles.shape[0]);return _&&this.#i(xw(m,p)),this.#l(_?`prefill ${c} for ${g}`:`prefill ${c}`,x=>wh(x,{config:s,tensors:a,rows:c,numWanted:_?g:void 0})).run(),await this.#c(p.length,_?void 0:p)}fork(e,r={}){let o=e.reduce((s,i)=>s+i,0);this.#d("rows",o,this.extent.maxRows);let{numDropped:n=0}=r;this.#r.fork(e,n),this.#n?.fork(e,n),this.#i(this.#s())}async step(e,r){b(this.#r.numRows>0,"a step needs rows: call fork() before");let o=r?.length??this.#r.numRows;b(e.length===o,`${e.length} tokens for ${o} rows`);let n=this.#r.numSteps;this.#d("steps",n+1,this.extent.maxSteps),this.#d("rows",o,this.extent.maxRows),r&&(this.#r.branch(r),this.#n?.branch(r),this.#i(this.#s()));let s=_t(o),i=new Uint32Array(s);i.set(e);let a=this.#r.nextPositions(s);for(let p of a)this.#f(p);this.#u(i,a),this.#n?.writeStep(e,s),this.#a(()=>this.#r.previousKeys(s));let{config:u}=this,c=this.#e,{suffixRows:l}=c;this.#r.append(n*l.shape[1]),this.registry.gpu.write(l,this.#r.appendedKeys(s));let f=this.#o,d=`step ${n} of ${s} rows in ${f} tiles`;return this.#l(d,p=>_h(p,{config:u,tensors:c,rows:s,step:n,numTiles:f})).run(),await this.#c(o)}#s(){return hh(this.#r.children,mh(this.registry.gpu.info,this.config.headDim))}#i(e){let{gpu:r}=this.registry;this.#o=Math.min(_t(e.length),this.#e.tiles.shape[0]);let o=new Uint32Array(this.#o*4);e.forEach((n,s)=>o.set([n.firstKey,n.endKey,n.firstRow,n.endRow],s*4)),r.write(this.#e.tiles,o)}#a(e){let r=this.#e.inputs.previous;r&&this.registry.gpu.write(r,e())}#u(e,r){let{gpu:o}=this.registry,n=q(this.config);b(e.every(s=>s<n),`there is a token that is not below ${n}`),o.write(this.#e.inputs.tokens,e),o.write(this.#e.positions,r)}async#c(e,r){let{gpu:o}=this.registry,{config:n}=this,s=_t(e),{chosen:i,head:a,parameters:u}=this.#e;this.#l(`head of ${s}, ${r?"chosen":"all"}`,p=>lg(p,{config:n,hiddenStates:a.xLastNorm,operands:u,tensors:r?i:{...i,positions:i.rowIndex},rows:s})).run();let c={...i.logProbabilities,shape:[e,q(n)]},l=r?(r.at(-1)??-1)+1:e,[f,d]=await o.read(c,{...a.xLastScale,shape:[l]});return await this.registry.ready(),eg(f,r?r.map(p=>d[p]):[...d]),f}#l(e,r){let o=this.#t.get(e);return o||(o=new ze(this.registry,e),r(o),this.#t.set(e,o)),o}#f(e){let{sequenceLength:r}=this.config;if(!(e<r))throw new y(`Cannot decode: position ${e} was asked for, at most ${r-1} was wanted; shorten the prompt or use a model with longer sequences`)}#d(e,r,o){if(!(r<=o))throw new RangeError(`Cannot decode: ${r} ${e} were asked for, at most ${o} was planned; create a larger decoder`)}};async function bw(t,e,r){let o=q(t.config),n=e.flatMap(({continuations:l})=>[...l]),s=e.flatMap(({prompt:l,continuations:f})=>f.map(d=>r?.(d,l))),i=n.map(({length:l})=>new Float32Array(l)),a=Uint32Array.from(e.flatMap(({continuations:l},f)=>l.map(()=>f))),u=(l,f)=>d=>{n.forEach((p,m)=>{if(l>=p.length)return;let h=se(d,f[m],o),g=s[m]?.[l];i[m][l]=g?ar(h,p[l],g):h[p[l]]})},c=[t.prefill(e.map(({prompt:l})=>l)).then(u(0,a))];t.fork(e.map(()=>1));for(let l=1;;l++){let f=En(a,n.map(d=>l<d.length?d[l-1]:ir));if(f.tokens.length===0)break;a=f.rows,c.push(t.step(f.tokens,f.parents).then(u(l,a)))}return await Promise.all(c),i}function*vw(t,{maxPromptTokens:e,maxRows:r}){let o=[],n=0,s=0;for(let{prompt:i,continuations:a}of t)for(let u=0;u<a.length;){!(n+i.length<=e&&s<r)&&o.length>0&&(yield o,o=[],n=0,s=0);let l=a.slice(u,u+r-s);o.push({prompt:i,continuations:l}),n+=i.length,s+=l.length,u+=l.length}o.length>0&&(yield o)}var ms=class{#e;#t;#r;#o;constructor(e,r){this.#e=e,this.#t={limitBytes:r,bufferBytes:Mt(e.registry.gpu.device)};let o=n=>ps.create(e.registry,e,{...n,memoryLimitBytes:r});this.#r=new hs(()=>o(ka(e.config,this.#t))),this.#o=new hs(()=>o(this.continuationExtent))}get continuationExtent(){return bh(this.#e.config,this.#t)}async withPrompts(e,r,o){let n=ka(this.#e.config,this.#t),s=0;for(let i of Fn(e,n,r))await this.#r.run(a=>o(a,i,s)),s+=i.length}async continuePrompts(e,r){return await this.#o.run(async o=>await r(o,await o.prefill(e)))}async tokenLogProbabilities(e,r){let o=q(this.#e.config),n=[],s=e.map(i=>i.subarray(0,-1));return await this.withPrompts(s,1,async(i,a)=>{let u=await i.prefill(a,{numLast:r}),c=0;for(let{length:l}of a){let f=e[n.length].subarray(-Math.min(r,l));n.push(Float32Array.from(f,d=>u[c++*o+d]))}}),n}async continuationLogProbabilities(e,r){let o=[];for(let n of vw(e,this.continuationExtent))o.push(...await this.#o.run(s=>bw(s,n,r)));return o}async reload(){let{weights:e}=this.#e;await Promise.all([this.#r,this.#o].map(r=>r.reload(e)))}},hs=class{#e;#t;#r=Promise.resolve();constructor(e){this.#e=e}async run(e){return await this.#o(async()=>await e(await(this.#t??=this.#e())))}async reload(e){await this.#o(async()=>(await this.#t)?.load(e))}async#o(e){let r=this.#r.then(e);return this.#r=r.catch(()=>{}),await r}};var DS=W.keys().toArray();async function Sw(t,{prompts:e,recents:r},o,n){await t.withPrompts(e,W.length,async(s,i,a)=>{let u=r.slice(a,a+i.length),c=s.prefill(i,{numLast:2,recents:u}),l=i.map(()=>DS);if(n){let{maxSpreadMass:h,codes:g}=n,_=await c;l=i.map((x,O)=>dm(se(_,2*O+1),{maxSpreadMass:h,code:g[a+O]}))}s.fork(l.map(({length:h})=>h));let f=s.step(l.flat().map(h=>11+W[h])),[d,p]=await Promise.all([c,f]),m=0;l.forEach((h,g)=>{let _={outcome:se(d,2*g),first:se(d,2*g+1),expanded:h,seconds:p.subarray(m*267,(m+=h.length)*267)};o(lm(_),a+g)})})}var BS=2**30;function ZS({directory:t,config:e}){let{vocabulary:r}=e.model;if(r!=="v2")throw new V(`the model has vocabulary ${r}, v2 was wanted; train one with v2, or ask only for likelihoods (query likelihood, eval)`,{path:t})}var gs=class t{config;registry;step;decoders;#e;#t;constructor(e,r,o,n,{memoryLimitBytes:s=BS,calibration:i,adapted:a}){this.config=e,this.registry=r,this.step=n,this.#t=new is(e,o,a),this.#e=i,this.decoders=new ms(this,s)}static async from(e,r={}){r.anyVocabulary||ZS(e),r.calibration?.requireOf(e);let{config:o,weights:n,state:s}=e,i=new ls(await wo.open()),{adapted:a}=e;return new t(o.model,i,n,s.step,{...r,adapted:a})}static of(e,r,{weights:o,...n}){return new t(e,r,o,0,n)}get weights(){return this.#t.weights}get gpu(){return this.registry.gpu}async rttDistribution(e){return(await this.rttDistributions(["source"in e?e:Xd(e)]))[0]}async rttDistributions(e){let r=[];return await this.likelyRttDistributions(e,o=>r.push(o)),r}async likelyRttDistributions(e,r,o){let{sequenceLength:n}=this.config,s={prompts:e.map(a=>Uint16Array.of(...Ae(a,n),8)),recents:e.map(({recent:a})=>a?.flatMap(({rttCode:u,timeS:c})=>u===null?[]:[{rttCode:u,timeS:c}]))},i=(a,u)=>r(this.#e?.apply(a)??a,u);await Sw(this.decoders,s,i,o)}async adapt(e,r={}){let o=e.map(s=>"source"in s?s:Gr(s)),n=await this.#t.fit(this.registry,o,r);return await this.decoders.reload(),n}close(){this.gpu.close()}[Symbol.dispose](){this.close()}};var _o=[0,.01,.025,...Array.from({length:19},(t,e)=>Math.round(5*(e+1))/100),.975,.99,1],ws=class t{#e;#t;constructor(e,r){b(kw(e),"shares of a calibration rise from 0 to 1"),this.#e=e,this.#t=r}static of(e){let r=e.below.length;return b(r>0,"a calibration needs measurements"),new t(_o.map((o,n)=>{if(n===0||n===_o.length-1)return o;let s=FS(e,[0,o]).reduce((i,a)=>i+a,0);return(o+s)/(r+1)}))}static parse(e,r){let{calibration:{shares:o},run:n}=qS(e,r);if(!kw(o)){let u=`${_o.length} numbers that rise from 0 to 1 were wanted`;throw new V(`its calibration is damaged, ${u}; run eval again with --overwrite`,{path:r})}let{checkpoint:s,step:i,modelSha256:a}=n;return new t(o,{path:r,checkpoint:s,step:i,sha256:a})}requireOf({directory:e,state:r}){let{sha256:o}=r.files.model;if(!this.#t||this.#t.sha256===o)return;let{path:n,checkpoint:s,step:i}=this.#t,a=`it is of the model ${s} (step ${i}, SHA-256 ${this.#t.sha256.slice(0,12)}\u2026)`;throw new V(`${a}, one of ${e} (step ${r.step}, ${o.slice(0,12)}\u2026) was wanted; run eval on that one`,{path:n})}get shares(){return this.#e}shareBelow(e){return jS(_o,this.#e,e)}apply({pFailed:e,probabilities:r,canonicalMass:o,spreadMass:n}){let s=new Float64Array(r.length),i=0,a=0;for(let u=0;u<r.length;u++){i+=r[u];let c=this.shareBelow(Math.min(1,i));s[u]=c-a,a=c}return new mt(e,s,o,n)}},US=D({run:D({checkpoint:$(),step:P(),modelSha256:$()}),calibration:D({shares:G(v())})});function qS(t,e){try{return US.parse(JSON.parse(t))}catch(r){let o=r instanceof Ko&&r.issues.every(({path:[i]})=>i==="run"),n=o?"it does not say of which model it is":"it holds no calibration",s="the report.json of an eval whose data has a validation split was wanted";throw new V(`${n}, ${s}; run eval${o?" again with --overwrite":""}`,{path:e,cause:r})}}function kw(t){return t.length===_o.length&&t[0]===0&&t.at(-1)===1&&t.every((e,r)=>r===0||e>t[r-1])}function jS(t,e,r){let o=1;for(;o<t.length-1&&t[o]<r;)o++;return e[o-1]+(r-t[o-1])/(t[o]-t[o-1])*(e[o]-e[o-1])}function FS({below:t,upTo:e},[r,o]){return t.map((n,s)=>{let i=e[s]-n;return i>0?Math.max(0,Math.min(o,e[s])-Math.max(r,n))/i:n>=r&&(n<o||o===1)?1:0})}var HS=["f32","f16"],KS=D({model:Pa,calibration:G(v()).nullable(),dtype:lt(HS),weights:G(D({path:$(),sizeBytes:P().min(1),sha256:$().regex(/^[0-9a-f]{64}$/)})).min(1)});function Ew(t,e){try{return KS.parse(JSON.parse(t))}catch(r){throw new V("it does not describe a model of this version; run deno task export again",{path:e,cause:r})}}var Ut=8,GS=1e8,Aw="__metadata__",WS=D({dtype:$(),shape:G(v().int().nonnegative()),data_offsets:Zr([v().int().nonnegative(),v().int().nonnegative()])}),VS=kt($(),$()),Qa={F32:4,F16:2};function YS(t,{path:e,sizeBytes:r}){if(r<Ut)throw new V(`the file ends, ${Ut} bytes of header length were wanted`,{path:e,offsetBytes:r});let o=new DataView(t.buffer,t.byteOffset).getBigUint64(0,!0);if(o>BigInt(Math.min(GS,r-Ut))){let n=`the header is said to have ${o} bytes, the file has ${r}`;throw new V(`${n}; it is truncated or no safetensors file`,{path:e,offsetBytes:0})}return Number(o)}function JS(t,e){let{buffer:r,byteOffset:o,byteLength:n}=t,s=n/Qa[e];return e==="F16"?Float32Array.from(new Float16Array(r,o,s)):new Float32Array(r,o,s)}function Tw(t,e){let r={path:e,sizeBytes:t.length},o=Ut+YS(t,r),{entries:n}=XS(t.subarray(Ut,o),r);return new Map([...n].map(([s,{dtype:i,begin:a,end:u}])=>{let l=(o+a)%Qa[i]===0?t.subarray(o+a,o+u):t.slice(o+a,o+u);return[s,JS(l,i)]}))}function XS(t,e){let r=QS(t,e.path);return tk(r.entries,{...e,dataOffsetBytes:Ut+t.length}),r}function QS(t,e){let r={path:e,offsetBytes:Ut},o;try{o=JSON.parse(new TextDecoder("utf-8",{fatal:!0}).decode(t))}catch(u){throw new V("the header is no JSON; it is damaged or no safetensors file",{...r,cause:u})}if(t[0]!==123||typeof o!="object"||o===null)throw new V("the header does not start with {, a JSON object was wanted",r);let{[Aw]:n={},...s}=o,i=VS.safeParse(n);if(!i.success)throw new V(`${Aw} is not text to text`,r);let a=Object.entries(s).map(([u,c])=>[u,ek(u,c,r)]);return a.sort(([,u],[,c])=>u.begin-c.begin||u.end-c.end),{entries:new Map(a),metadata:i.data}}function ek(t,e,r){let o=WS.safeParse(e);if(!o.success)throw new V(`tensor ${t} lacks a valid dtype, shape or data_offsets`,r);let{dtype:n,shape:s,data_offsets:[i,a]}=o.data;if(n!=="F32"&&n!=="F16")throw new V(`tensor ${t} is ${n}, F32 or F16 was wanted; convert it`,r);let u=Qa[n]*rk(s);if(a-i!==u){let c=`tensor ${t} of shape [${s}] has ${a-i} bytes`;throw new V(`${c}, ${u} were wanted`,r)}return{shape:s,dtype:n,begin:i,end:a}}function tk(t,{path:e,dataOffsetBytes:r,sizeBytes:o}){let n=0;for(let[s,{begin:i,end:a}]of t){if(i!==n){let u=i<n?"overlaps the tensor before it":"leaves a hole before it";throw new V(`tensor ${s} ${u}`,{path:e,offsetBytes:r+i})}n=a}if(r+n!==o){let s=r+n,i=s>o?"it is truncated":"it has bytes that no tensor owns";throw new V(`the file has ${o} bytes, ${s} were wanted; ${i}`,{path:e,offsetBytes:Math.min(s,o)})}}function rk(t){return t.reduce((e,r)=>e*r,1)}var ok="ping-llm weights",_s=class{#e;constructor(e){this.#e=new URL(".",e)}async get(e){let r=await(await this.#o())?.match(this.#r(e));return r&&new Uint8Array(await r.arrayBuffer())}async put(e,r){let o=await this.#o();if(!o)return;let n=this.#r(e);for(let{url:i}of await o.keys())new URL(i).pathname===n.pathname&&await o.delete(i);let s={"content-length":String(r.length)};try{await o.put(n,new Response(r,{headers:s}))}catch(i){if(!(i instanceof DOMException))throw i}}async sizeBytes(){let e=await this.#o(),r=0;for(let o of await this.#t(e))r+=Number((await e?.match(o))?.headers.get("content-length")??0);return r}async delete(){let e=await this.#o();for(let r of await this.#t(e))await e?.delete(r)}async#t(e){return(await e?.keys()??[]).filter(({url:r})=>new URL(".",r).href===this.#e.href)}#r({path:e,sha256:r}){return new URL(`${e}?sha256=${r}`,this.#e)}async#o(){try{return await caches.open(ok)}catch{return}}};async function $w(t){let e=await Pw(t,{cache:"no-cache"});return Ew(await e.text(),t.href)}async function Ow(t,e,r){let o=new _s(e),n=t.weights.reduce((l,{sizeBytes:f})=>l+f,0),s=new Map,i=0;for(let l of t.weights){let f=new URL(l.path,e),d=await nk(l,f,o,p=>r(i+p,n));for(let[p,m]of Tw(d,f.href))s.set(p,m);i+=l.sizeBytes}let{step:a,config:u,model_sha256:c}=t.model;return{directory:e.href,config:{model:xn(u.model)},state:{step:a,files:{model:{sha256:c}}},weights:s}}async function nk(t,e,r,o){o(0);let n=await r.get(t);if(n&&await zw(n,t)===void 0)return n;let s=await sk(t,e,o),i=await zw(s,t);if(i)throw new y(`Cannot use the model from ${e.href}: ${i}; load the page again, and if that does not help, export the site again and copy all of its files`);return await r.put(t,s),s}async function zw(t,{sha256:e}){let r=new Uint8Array(await crypto.subtle.digest("SHA-256",t)),o=Array.from(r,n=>n.toString(16).padStart(2,"0")).join("");if(o!==e)return`its SHA-256 is ${o.slice(0,12)}\u2026, ${e.slice(0,12)}\u2026 was wanted: it was damaged or replaced`}async function sk({sizeBytes:t},e,r){let{body:o}=await Pw(e,{cache:"no-store"}),n=new Uint8Array(t),s=0,i=a=>new y(`Cannot use the model from ${e.href}: found ${a} bytes, ${t} were wanted; load the page again`);try{let a=o?.getReader();for(let u=await a?.read();u?.value;u=await a?.read()){if(s+u.value.length>t)throw i("more");n.set(u.value,s),s+=u.value.length,r(s)}}catch(a){throw a instanceof y?a:eu(e,"the connection was lost",a)}if(s<t)throw i(String(s));return n}async function Pw(t,e){let r;try{r=await fetch(t,e)}catch(o){throw eu(t,"the server did not answer",o)}if(r.ok)return r;throw eu(t,`the server answered ${r.status}`)}function eu(t,e,r){return new y(`Cannot load ${t.href}: ${e}; check the connection and load the page again`,{cause:r})}var ik=2**28,ak={src:"192.0.2.1",dst:"192.0.2.2"},uk=100,Rw=globalThis,xr=t=>Rw.postMessage(t),tu=new Map,ru;Rw.onmessage=async({data:t})=>{t.kind==="abort"?tu.get(t.id)?.abort():t.kind==="ask"?await pk(t):await ck(new URL(t.site))};async function ck(t){try{ru=await lk(t),xr({kind:"ready"})}catch(e){xr({kind:"status",status:{state:"failed",message:Mw(e,"run the model here")}})}}async function lk(t){let e=await fk(),r=await $w(t);dk(r,e);let o=-1/0,n=await Ow(r,t,(i,a)=>{performance.now()-o<uk||(o=performance.now(),xr({kind:"status",status:{state:"loading",loadedBytes:i,totalBytes:a}}))});xr({kind:"status",status:{state:"starting"}});let s=await gs.from(n,{memoryLimitBytes:ik,...r.calibration&&{calibration:new ws(r.calibration)}});return await s.rttDistribution(ak),new rs(s,{info:r.model})}async function fk(){let t=await navigator.gpu?.requestAdapter();if(t)return t;let e=globalThis.isSecureContext?navigator.gpu?"this browser gives no GPU to pages":"this browser has no WebGPU":"the page came neither by https nor from this machine, where browsers give pages no GPU",r=globalThis.isSecureContext?"open the page in a current Chrome, Edge, Firefox or Safari on a machine with a GPU":"open it with https";throw new y(`Cannot run the model here: ${e}, WebGPU was wanted; ${r}`)}function dk({model:{config:t}},e){let r=xn(t.model),o=dr(s=>Dt(r,s)),n=Mt(e);if(!(o<=n))throw new y(`Cannot run the model here: its largest tensor has ${tt(o)}, at most ${tt(n)} was wanted by this GPU; open the page on a larger machine, or ask for a smaller model`)}async function pk({id:t,operation:e,args:r}){let o=new AbortController;tu.set(t,o);try{if(!ru)throw new y("Cannot answer: the model is not loaded");xr({kind:"answer",id:t,answer:await mk(ru,e,[...r,o.signal])})}catch(n){xr({kind:"problem",id:t,detail:Mw(n,"answer")})}finally{tu.delete(t)}}async function mk(t,e,r){return await t[e].apply(t,r)}function Mw(t,e){let{status:r,detail:o}=rn(t);return r!==500?o:(console.error(t),`Cannot ${e}: ${t instanceof Error?t.message:String(t)}`)}
